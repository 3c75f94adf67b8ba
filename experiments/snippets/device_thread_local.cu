// A variable of its own for each thread, as the host has them.
__device__ int next() {
#ifdef MENDED
  int count = 0;
#else
  thread_local int count = 0;
#endif
  return ++count;
}

__global__ void ask(int* result) { *result = next(); }
