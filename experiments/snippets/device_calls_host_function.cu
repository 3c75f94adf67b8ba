// A kernel calls a function of the host.
__host__ int answer();

__global__ void ask(int* result) { *result = answer(); }
