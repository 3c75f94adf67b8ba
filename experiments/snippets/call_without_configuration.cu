// A kernel called as a function is.
__global__ void KernelFunc(int* result) { *result = 42; }

void start(int* result) {
#ifdef MENDED
  KernelFunc<<<1, 1>>>(result);
#else
  KernelFunc(result);
#endif
}
