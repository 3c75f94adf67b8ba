// ptx: mad.lo.s32
// not in ptx: call
// A function of the device becomes part of the kernel that calls it.
__device__ int squared_and_one(int x) { return x * x + 1; }

__global__ void ask(int* result) { *result = squared_and_one(*result); }
