// options: -O1 -Werror=uninitialized
// The example of the course: of the events only start is created.
#include <cuda_runtime_api.h>

float time(void (*add)()) {
  cudaEvent_t start, endMemcpy, endAdd, end;
  cudaEventCreate(&start);
#ifdef MENDED
  cudaEventCreate(&end);
#endif
  cudaEventRecord(start, 0);
  add();
  cudaEventRecord(end, 0);
  cudaEventSynchronize(end);
  float memcpyTime, addTime, totalTime;
  cudaEventElapsedTime(&totalTime, start, end);
  cudaEventDestroy(start);
  return totalTime;
}
