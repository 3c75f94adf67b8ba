/// Every thread allocates its array from the device's heap for each item and frees it. The heap serves all threads of
/// the GPU, thousands at a time, and a thread's array is contiguous: the lanes of a warp are far apart, and each lane's
/// access takes a separate sector. Source: Zhou, CUDA/GPU Programming (2), "Functional declarations", where malloc() is
/// allowed but to be used with caution.
#include "gpu/simt/heap_and_stack.hpp"
#include "gpu/work_array/items.hpp"

namespace rung {
namespace {

__global__ void malloc_thread(const mem<std::uint32_t>* start, mem<std::uint32_t>* sum, int n, int length) {
  const int threads = gridDim.x * kWorkThreads;
  for (int i = blockIdx.x * kWorkThreads + threadIdx.x; i < n; i += threads) {
    auto* words = static_cast<mem<std::uint32_t>*>(malloc(length * sizeof(std::uint32_t)));
    if (!words) return;  // the heap is exhausted: the missing results show it
    sum[i] = walk_through(words, start[i], length);
    free(words);
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/work_array/malloc_thread",
    .order = 40,
    .title = "malloc by each thread",
    .idea = "Every thread allocates an array from the device’s heap for each item and frees it.",
    .source = {{"zhou2015", "Functional declarations"}, {"blakely", "Vector addition, memory"}},
    .type = Type::uint32,
    .gpu = {.launch = work_launch, .requested = global_array_traffic},
    .run =
        [](const Call& call) {
          need_device_heap(bytes_at_once(call));
          launch(call, malloc_thread, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 items_of(call), length_of(call));
        },
});

}  // namespace
}  // namespace rung
