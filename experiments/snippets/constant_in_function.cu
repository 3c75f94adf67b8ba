// A constant that is declared in a function.
__global__ void ask(int* result) {
  __constant__ int solver;
  *result = solver;
}
