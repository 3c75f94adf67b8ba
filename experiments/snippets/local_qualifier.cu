// A variable declared to be in local memory.
__global__ void kernel(float* result) {
#ifdef MENDED
  float values[4] = {};
#else
  __local__ float values[4] = {};
#endif
  *result = values[threadIdx.x];
}
