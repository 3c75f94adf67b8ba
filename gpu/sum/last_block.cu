/// One launch: each block stores its sum, then takes a ticket, and the one with the last ticket adds all sums up. The
/// ticket is a flag for a stored sum, and is valid only if the GPU sees the sum no later than the flag: the fence
/// guarantees this. Without it the last block may add up old contents of memory. It is __threadfence, since the reader
/// is another block; where writer and reader are in one block, __threadfence_block suffices, and __syncthreads includes
/// it.
/// Source: Blakely, "Global memory access visibility"; NVIDIA CUDA C++ Programming Guide, memory fence functions.
#include "gpu/sum/block_sum.hpp"

namespace rung {
namespace {

__global__ void sum_last_block(const mem<float>* x, mem<unsigned>* ticket, mem<float>* sum, mem<float>* partials,
                               int n) {
  __shared__ mem<int> is_last;
  const unsigned last = gridDim.x - 1;
  const reg<float> partial = block_sum(thread_sum(x, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;
    __threadfence();                                        // a thread that sees the ticket sees the partial sum
    is_last = atomicInc(&ticket[0], last) == last ? 1 : 0;  // after the last ticket 0 again, for the next call
    __threadfence();                                        // no later read is older than the ticket
  }
  __syncthreads();  // all threads can read is_last, and see what the first thread sees
  if (is_last == 0) return;
  const reg<float> total = block_sum(thread_sum_of_block(partials, gridDim.x));
  if (threadIdx.x == 0) sum[0] = total;
}

const bool added = add_gpu_kernel({
    .name = "gpu/sum/last_block",
    .order = 30,
    .title = "last block by ticket",
    .idea = "Each block stores its sum, a fence, then takes a ticket; the last one adds all sums in the same launch.",
    .source = {{"blakely", "__threadfence"}, {"cuda-guide", "memory fence functions"}},
    .scratch =
        [](const Params& p) {
          const Operand ticket{
              .name = "ticket", .elements = 1, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          return std::vector{partial_sums(p), ticket};
        },
    .gpu =
        {
            .launch = sum_launch,
            .requested =
                [](const Params& p) {
                  const Traffic partials = partials_traffic(p);
                  return Traffic{.loaded = partials.loaded, .stored = partials.stored + atomic_bytes(p)};
                },
        },
    .run =
        [](const Call& call) {
          launch(call, sum_last_block, call.operand<const mem<float>>(0), call.operand<mem<unsigned>>(3),
                 call.operand<mem<float>>(1), call.operand<mem<float>>(2), sum_elements(call.params));
        },
});

}  // namespace
}  // namespace rung
