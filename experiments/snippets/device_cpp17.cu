// options: -std=c++17
// C++17 on the device: structured bindings, if constexpr, a fold expression, a lambda that is constexpr.
struct Pair {
  int first, second;
};

template <typename... Numbers>
__device__ int sum(Numbers... numbers) {
  if constexpr (sizeof...(numbers) == 1) return (numbers + ...);
  return (numbers + ...);
}

__global__ void ask(const Pair* pair, int* result) {
  const auto [first, second] = *pair;
  constexpr auto doubled = [](int x) { return 2 * x; };
  *result = sum(first, second, doubled(first));
}
