// One function for the host and for the device.
__host__ __device__ int answer() { return 42; }

__global__ void ask(int* result) { *result = answer(); }

int ask_here() { return answer(); }
