// The lecture's example of device memory: 64 x 64 floats.
struct Matrix {
  float* elements;
};

#define BLOCK_SIZE 64

void example(Matrix Md) {
  int size = BLOCK_SIZE * BLOCK_SIZE * sizeof(float);
  cudaMalloc((void**)&Md.elements, size);
  cudaFree(Md.elements);
}
