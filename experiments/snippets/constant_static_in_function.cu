// A constant that is declared in a function, as a static variable of it.
__global__ void ask(int* result) {
  static __constant__ int solvers[2] = {1, 2};
  *result = solvers[threadIdx.x];
}
