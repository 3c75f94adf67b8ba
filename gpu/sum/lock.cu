/// Each block adds its sum under a lock that all blocks share: its first thread tries until the lock is free, adds with
/// an ordinary load and store, and releases the lock. It terminates for any order of blocks, because a block waits only
/// for the block that holds the lock, and that block runs and waits for nothing: no other lock, no barrier of the grid,
/// no block that has yet to start. A lock that is passed to a certain block next would not be safe: that block may be
/// waiting for a multiprocessor. Only one thread per block tries: if lanes of one warp competed for the lock, the lane
/// that holds it might never continue on GPUs before Volta. The blocks add one after another, so the cost is a chain of
/// one atomic, fences and an addition per block. A separate launch sets the sum to zero, as for atomics.
/// Source: Kistijantoro and others, "Blocks must be independent": a shared lock can easily deadlock.
#include "gpu/sum/block_sum.hpp"

namespace rung {
namespace {

__global__ void open_sum(mem<float>* sum) { sum[0] = 0; }

__global__ void sum_lock(const mem<float>* x, volatile mem<float>* sum, mem<unsigned>* lock, int n) {
  const reg<float> partial = block_sum(thread_sum(x, n));
  if (threadIdx.x != 0) return;
  while (atomicCAS(&lock[0], 0u, 1u) != 0u) {
  }
  __threadfence();  // no read of the sum is older than the lock
  const float before = sum[0];
  sum[0] = before + partial;
  __threadfence();  // the next holder of the lock sees the sum
  atomicExch(&lock[0], 0u);
}

const bool added = add_gpu_kernel({
    .name = "gpu/sum/lock",
    .order = 15,
    .title = "a lock for all blocks",
    .idea = "Each block adds its sum to the result while it holds a lock that all blocks share.",
    .source = {{"imam2022", "Blocks must be independent"}},
    .scratch =
        [](const Params&) {
          return std::vector{
              Operand{.name = "lock", .elements = 1, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true}};
        },
    .gpu =
        {
            .blocks_wait = true,
            .launch = sum_launch,
            .requested =
                [](const Params& p) {  // where no block waits, each tries once
                  const double blocks = sum_blocks(p);
                  return Traffic{.loaded = 4 * (p.at("n") + blocks), .stored = 4 + 4 * blocks + 2 * atomic_bytes(p)};
                },
        },
    .run =
        [](const Call& call) {
          Call before = call;
          before.launch = Launch{{1}, {1}};
          launch(before, open_sum, call.operand<mem<float>>(1));
          launch(call, sum_lock, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                 call.operand<mem<unsigned>>(2), sum_elements(call.params));
        },
});

}  // namespace
}  // namespace rung
