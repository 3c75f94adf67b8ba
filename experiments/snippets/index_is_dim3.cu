// The type of the built-in variables, as an early slide has it.
#include <type_traits>

__global__ void ask() {
#ifdef MENDED
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(threadIdx)>, uint3>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(blockIdx)>, uint3>);
#else
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(threadIdx)>, dim3>);
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(blockIdx)>, dim3>);
#endif
  static_assert(std::is_same_v<std::remove_cvref_t<decltype(blockDim)>, dim3>);
}
