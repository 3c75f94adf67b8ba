/// One thread of each block allocates memory for all its threads from the device's heap, once for the whole launch: one
/// request instead of 256, and none for later items. Word j of all threads of the block is contiguous, so that filling
/// the arrays coalesces. Source: NVIDIA, CUDA C++ Programming Guide, "Dynamic global memory allocation", per thread
/// block.
#include "gpu/simt/heap_and_stack.hpp"
#include "gpu/work_array/items.hpp"

namespace rung {
namespace {

/// Every kWorkThreads-th word from the thread's own on.
struct Interleaved {
  mem<std::uint32_t>* words;
  __device__ __forceinline__ mem<std::uint32_t>& operator[](int j) const { return words[j * kWorkThreads]; }
};

__global__ void malloc_block(const mem<std::uint32_t>* start, mem<std::uint32_t>* sum, int n, int length) {
  __shared__ mem<mem<std::uint32_t>*> shared;
  if (threadIdx.x == 0)
    shared = static_cast<mem<std::uint32_t>*>(malloc(kWorkThreads * length * sizeof(std::uint32_t)));
  __syncthreads();  // the others see where the arrays are
  mem<std::uint32_t>* const arrays = shared;
  if (arrays) {
    const int threads = gridDim.x * kWorkThreads;
    for (int i = blockIdx.x * kWorkThreads + threadIdx.x; i < n; i += threads)
      sum[i] = walk_through(Interleaved{arrays + threadIdx.x}, start[i], length);
  }
  __syncthreads();  // no thread needs them any more
  if (threadIdx.x == 0) free(arrays);
}

const bool added = add_gpu_kernel({
    .name = "gpu/work_array/malloc_block",
    .order = 30,
    .title = "malloc by each block",
    .idea = "One thread of a block allocates memory for all its threads from the device’s heap, once per launch.",
    .source = {{"cuda-guide", "dynamic global memory allocation and operations"}},
    .type = Type::uint32,
    .gpu = {.launch = work_launch, .requested = global_array_traffic},
    .run =
        [](const Call& call) {
          need_device_heap(bytes_at_once(call));
          launch(call, malloc_block, call.operand<const mem<std::uint32_t>>(0), call.operand<mem<std::uint32_t>>(1),
                 items_of(call), length_of(call));
        },
});

}  // namespace
}  // namespace rung
