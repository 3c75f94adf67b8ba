// The host launches a kernel.
__global__ void answer(int* result) { *result = 42; }

void start(int* result) { answer<<<1, 1>>>(result); }
