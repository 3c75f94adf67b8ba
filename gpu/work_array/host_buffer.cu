/// The host allocates memory once, before the launch, for the arrays of all threads that the GPU holds at once. Either
/// an array is contiguous, as from malloc, or word j of neighbouring threads is contiguous, which coalesces. This
/// separates the cost of malloc's time from the cost of its layout.
/// Source: Blakely, Writing and Compiling a CUDA Code, "Vector addition, memory".
#include "gpu/work_array/items.hpp"

namespace rung {
namespace {

/// Every `stride`-th word from the thread's own on.
struct Strided {
  mem<std::uint32_t>* words;
  std::int64_t stride;
  __device__ __forceinline__ mem<std::uint32_t>& operator[](int j) const { return words[j * stride]; }
};

template <bool IsInterleaved>
__global__ void host_buffer(const mem<std::uint32_t>* start, mem<std::uint32_t>* sum, mem<std::uint32_t>* arrays, int n,
                            int length) {
  const int thread = blockIdx.x * kWorkThreads + threadIdx.x;
  const int threads = gridDim.x * kWorkThreads;
  const Strided words = IsInterleaved ? Strided{arrays + thread, threads}
                                      : Strided{arrays + static_cast<std::int64_t>(thread) * length, 1};
  for (int i = thread; i < n; i += threads) sum[i] = walk_through(words, start[i], length);
}

const bool added = add_gpu_kernel({
    .name = "gpu/work_array/host_buffer",
    .order = 20,
    .title = "buffer from the host",
    .idea = "The host has allocated an array for each thread that the GPU holds at once; nothing is allocated later.",
    .source = {{"blakely", "Vector addition, memory"}},
    .type = Type::uint32,
    .tunables = {{"layout", words({"interleaved", "in_one_piece"})}},
    .scratch =
        [](const Params& p) {
          const auto count = static_cast<std::size_t>(work_grid_threads(p) * p.at("length"));
          return std::vector<Operand>{
              {.name = "arrays", .elements = count, .type = Type::uint32, .role = Role::scratch}};
        },
    .gpu = {.launch = work_launch, .requested = global_array_traffic},
    .run =
        [](const Call& call) {
          const auto start = [&](auto kernel) {
            launch(call, kernel, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                   call.operand<mem<std::uint32_t>>(2), items_of(call), length_of(call));
          };
          call.params.at("layout") == 0 ? start(host_buffer<true>) : start(host_buffer<false>);
        },
});

}  // namespace
}  // namespace rung
