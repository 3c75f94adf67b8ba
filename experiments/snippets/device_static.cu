// A function of the device with a static variable.
__device__ int calls() {
  static int count = 0;
  return ++count;
}

__global__ void ask(int* result) { *result = calls(); }
