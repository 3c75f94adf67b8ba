// A kernel calls a function of the device.
__device__ int answer() { return 42; }

__global__ void ask(int* result) { *result = answer(); }
