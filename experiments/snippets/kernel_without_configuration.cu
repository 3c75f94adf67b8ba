// A kernel is called like any function.
__global__ void answer(int* result) { *result = 42; }

void start(int* result) { answer(result); }
