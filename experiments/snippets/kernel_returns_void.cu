// A kernel that stores its result.
__global__ void answer(int* result) { *result = 42; }
