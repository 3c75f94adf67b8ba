// options: -std=c++17
// C++17 on the device: structured bindings, if constexpr, fold expressions, a lambda that is constexpr, deduced class
// template arguments, auto as a template parameter, an inline variable, a nested namespace, an if with an initializer,
// an attribute.
namespace shapes::plane {

template <typename Number>
struct Pair {
  Number first, second;
  __device__ Pair(Number one, Number other) : first(one), second(other) {}
};

inline constexpr int kFactor = 2;

template <auto kNumber>
__device__ auto times(int x) {
  return kNumber * x;
}

}  // namespace shapes::plane

template <typename... Numbers>
__device__ int sum(Numbers... numbers) {
  if constexpr (sizeof...(numbers) == 0) return 0;
  return (0 + ... + numbers);
}

__global__ void ask(const int* from, int* result) {
  const shapes::plane::Pair pair(from[0], from[1]);
  const auto [first, second] = pair;
  constexpr auto doubled = [](int x) { return shapes::plane::kFactor * x; };
  if (const int both = sum(first, second, doubled(first)); both > 0)
    *result = shapes::plane::times<3>(both);
  else if ([[maybe_unused]] const int none = sum(); both < 0)
    *result = both;
}
