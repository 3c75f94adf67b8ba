// The end of the lecture's MatMul() without tiles: the device's matrix is d_C.
struct Matrix {
  int width, height;
  float* elements;
};

void read_back(Matrix C, const Matrix d_C, size_t size) {
#ifdef MENDED
  cudaMemcpy(C.elements, d_C.elements, size, cudaMemcpyDeviceToHost);
#else
  cudaMemcpy(C.elements, Cd.elements, size, cudaMemcpyDeviceToHost);
#endif
}
