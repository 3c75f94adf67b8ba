// ptx: add\.f16x2
// Two halves are added by one instruction.
#include <cuda_fp16.h>

__global__ void add(const __half2* a, const __half2* b, __half2* sum) { *sum = __hadd2(*a, *b); }
