// Functions of float give float, of double double, on both sides.
#include <cmath>
#include <type_traits>

template <typename T>
__host__ __device__ T all(T x) {
  static_assert(std::is_same_v<decltype(sqrt(x)), T> && std::is_same_v<decltype(exp(x)), T> &&
                std::is_same_v<decltype(sin(x)), T> && std::is_same_v<decltype(floor(x)), T>);
  return sqrt(x) + exp(x) + sin(x) + floor(x);
}

__global__ void ask(float* a, double* b) {
  *a = all(*a);
  *b = all(*b);
}

double ask_here(float a, double b) { return all(a) + all(b); }
