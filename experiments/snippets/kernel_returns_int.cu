// A kernel that returns its result.
__global__ int answer() { return 42; }
