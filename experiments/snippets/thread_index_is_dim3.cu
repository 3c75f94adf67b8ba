// The lecture's list of built-in variables: dim3 blockIdx, dim3 threadIdx.
template <typename A, typename B>
constexpr bool same = false;
template <typename A>
constexpr bool same<A, A> = true;

#ifdef MENDED
using Index = const uint3;
#else
using Index = const dim3;
#endif

__global__ void kernel() {
  static_assert(same<decltype(gridDim), const dim3> && same<decltype(blockDim), const dim3>);
  static_assert(same<decltype(blockIdx), Index> && same<decltype(threadIdx), Index>);
}
