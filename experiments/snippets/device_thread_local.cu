// A thread_local variable, as on the host.
__device__ int next() {
#ifdef MENDED
  int count = 0;
#else
  thread_local int count = 0;
#endif
  return ++count;
}

__global__ void ask(int* result) { *result = next(); }
