/// A copy of the table in each block's shared memory. The words of a row are in different banks, so any number of
/// addresses in it are one wavefront. Floor: one wavefront per clock and multiprocessor, and the table once per block.
#include "gpu/lookup/walk.hpp"

namespace rung {
namespace {

template <LookupChain kChain>
__global__ void __launch_bounds__(kLookupThreads)
    lookup_shared(const mem<unsigned>* table, mem<unsigned>* sums, int n, int rounds, int rows, int distinct) {
  mem<unsigned>* own = dynamic_shared<mem<unsigned>>();
  for (int place = threadIdx.x; place < rows * kLookupColumns; place += kLookupThreads) {
    const unsigned word = table[place];
    own[place] = word;
  }
  __syncthreads();  // the copy is complete
  const int i = blockIdx.x * kLookupThreads + threadIdx.x;
  if (i >= n) return;
  sums[i] = walk<kChain>(i, rounds, rows, distinct, [=](unsigned place) -> unsigned { return own[place]; });
}

const bool added = add_gpu_kernel({
    .name = "gpu/lookup/shared",
    .order = 30,
    .title = "shared memory",
    .idea = "Each block copies the table into shared memory, where one word of each bank is read at a time.",
    .source = {{"cuda-guide", "shared memory"}},
    .type = Type::uint32,
    .gpu = {.launch = [](const Params& p) { return lookup_launch(p, static_cast<std::size_t>(lookup_table_bytes(p))); },
            .requested =
                [](const Params& p) {
                  const double blocks = blocks_for(p.at("n"), kLookupThreads);
                  return Traffic{.loaded = blocks * lookup_table_bytes(p), .stored = 4.0 * p.at("n")};
                }},
    .run =
        [](const Call& call) {
          with_lookup_chain(call, [&](auto chain) {
            launch(call, lookup_shared<chain>, call.operand<const mem<unsigned>>(0), call.operand<mem<unsigned>>(1),
                   lookup_size(call, "n"), lookup_size(call, "rounds"), lookup_size(call, "rows"),
                   lookup_size(call, "distinct"));
          });
        },
});

}  // namespace
}  // namespace rung
