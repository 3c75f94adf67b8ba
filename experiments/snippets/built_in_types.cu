// The types of the built-in variables, as the summary has them.
#include <type_traits>

template <typename T, typename Variable>
constexpr bool is = std::is_same_v<std::remove_cvref_t<Variable>, T>;

__device__ void check() {
  static_assert(is<dim3, decltype(gridDim)> && is<uint3, decltype(blockIdx)> && is<dim3, decltype(blockDim)> &&
                is<uint3, decltype(threadIdx)> && is<int, decltype(warpSize)>);
}

__global__ void ask() { check(); }
