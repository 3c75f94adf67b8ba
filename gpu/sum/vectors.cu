/// Loads of 16 bytes, several per thread in flight before the first is added: enough bytes in flight to cover memory's
/// latency, so that the sum runs at the rate at which memory can be read. The grid has the number of blocks that are
/// resident at once, and the last block adds their sums, as in last_block.cu.
#include "gpu/sum/block_sum.hpp"

namespace rung {
namespace {

using Loads = Choices<4, 2, 8, 1>;

__device__ __forceinline__ reg<float> total(const float4& v) { return (v.x + v.y) + (v.z + v.w); }

template <int InFlight>
__device__ __forceinline__ reg<float> thread_sum_of_vectors(const mem<float>* x, int n) {
  const mem<float4>* vectors = vector_cast<float4>(x);
  const int count = n / 4, step = gridDim.x * kSumThreads * InFlight;
  reg<float> sum = 0;
  int i = blockIdx.x * kSumThreads * InFlight + threadIdx.x;
  for (; i + (InFlight - 1) * kSumThreads < count; i += step) {  // whole batches: nothing between the loads
    float4 v[InFlight];
    for (int j = 0; j < InFlight; ++j) v[j] = vectors[i + j * kSumThreads];
    for (int j = 0; j < InFlight; ++j) sum += total(v[j]);
  }
  for (int j = 0; j < InFlight - 1; ++j)  // the rest of the last batch
    if (i + j * kSumThreads < count) {
      const float4 v = vectors[i + j * kSumThreads];
      sum += total(v);
    }
  const int tail = 4 * count + threadIdx.x;  // the last elements, fewer than a vector
  if (blockIdx.x == 0 && tail < n) sum += x[tail];
  return sum;
}

template <int InFlight>
__global__ void __launch_bounds__(kSumThreads)
    sum_vectors(const mem<float>* x, mem<unsigned>* ticket, mem<float>* sum, mem<float>* partials, int n) {
  __shared__ mem<int> is_last;
  const unsigned last = gridDim.x - 1;
  const reg<float> partial = block_sum(thread_sum_of_vectors<InFlight>(x, n));
  if (threadIdx.x == 0) {
    partials[blockIdx.x] = partial;
    __threadfence();                                        // a thread that sees the ticket sees the partial sum
    is_last = atomicInc(&ticket[0], last) == last ? 1 : 0;  // after the last ticket 0 again, for the next call
    __threadfence();                                        // no later read is older than the ticket
  }
  __syncthreads();
  if (is_last == 0) return;
  const reg<float> total = block_sum(thread_sum_of_block(partials, gridDim.x));
  if (threadIdx.x == 0) sum[0] = total;
}

/// The number of blocks that are resident at once, or of batches if there are fewer.
unsigned vector_blocks(const Params& p) { return std::min(sum_blocks(p), blocks_for(p.at("n"), 4 * kSumThreads)); }

const bool added = add_gpu_kernel({
    .name = "gpu/sum/vectors",
    .order = 40,
    .title = "wide loads",
    .idea =
        "Each thread keeps several loads of 16 bytes in flight; the block with the last ticket adds the blocks' sums.",
    .source = {{"harris2007", "multiple elements a thread"}, {"luitjens2013"}, {"little1961"}},
    .tunables = {{"loads", Loads::values()}},
    .scratch =
        [](const Params& p) {
          const Operand ticket{
              .name = "ticket", .elements = 1, .type = Type::uint32, .role = Role::scratch, .is_zeroed = true};
          return std::vector{partial_sums(p), ticket};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{vector_blocks(p)}, {kSumThreads}};
                },
            .requested =
                [](const Params& p) {
                  const double blocks = 4.0 * vector_blocks(p);
                  return Traffic{.loaded = 4.0 * p.at("n") + blocks, .stored = 2 * blocks + 4};
                },
        },
    .run =
        [](const Call& call) {
          Loads::pick(call.params.at("loads"), [&](auto loads) {
            launch(call, sum_vectors<loads>, call.operand<const mem<float>>(0), call.operand<mem<unsigned>>(3),
                   call.operand<mem<float>>(1), call.operand<mem<float>>(2), sum_elements(call.params));
          });
        },
});

}  // namespace
}  // namespace rung
