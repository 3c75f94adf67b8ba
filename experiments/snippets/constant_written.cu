// A kernel writes a constant.
__constant__ int solver;

__global__ void choose(int number) { solver = number; }
