// Functions of the device that call each other, four deep.
__device__ int first(int x) { return x + 1; }
__device__ int second(int x) { return first(x) + 1; }
__device__ int third(int x) { return second(x) + 1; }
__device__ int fourth(int x) { return third(x) + 1; }

__global__ void ask(int* result) { *result = fourth(*result); }
