// The driver API: a property of a device, its memory, and a kernel.
#include <cuda.h>

void start(CUfunction kernel, CUdeviceptr* memory) {
  int processors;
  cuDeviceGetAttribute(&processors, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0);
  cuMemAlloc(memory, 1024);
  void* arguments[] = {memory};
  cuLaunchKernel(kernel, processors, 1, 1, 256, 1, 1, 0, nullptr, arguments, nullptr);
}
