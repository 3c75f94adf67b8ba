/// The table in constant memory, which has a separate cache on each multiprocessor. The cache delivers one word at a
/// time, to any number of lanes: a read of one address by all lanes is a single pass, and k addresses are k passes.
/// Floor: one pass per distinct address of a warp.
#include "gpu/lookup/walk.hpp"

namespace rung {
namespace {

__constant__ mem<unsigned> constant_table[kLookupRows * kLookupColumns];

template <LookupChain kChain>
__global__ void __launch_bounds__(kLookupThreads)
    lookup_constant(mem<unsigned>* sums, int n, int rounds, int rows, int distinct) {
  const int i = blockIdx.x * kLookupThreads + threadIdx.x;
  if (i >= n) return;
  sums[i] = walk<kChain>(i, rounds, rows, distinct, [](unsigned place) -> unsigned { return constant_table[place]; });
}

const bool added = add_gpu_kernel({
    .name = "gpu/lookup/constant",
    .order = 10,
    .title = "constant memory",
    .idea = "The table is in constant memory, whose cache serves one address at a time, to any number of lanes.",
    .source = {{"zhou2015", "memory model, constant memory"}, {"cuda-best-practices", "constant memory"}},
    .type = Type::uint32,
    .gpu = {.launch = [](const Params& p) { return lookup_launch(p); },
            .requested = [](const Params& p) { return Traffic{.loaded = 0, .stored = 4.0 * p.at("n")}; }},
    .reset =
        [](const Call& call) {
          set_constant(call, constant_table, call.operand<unsigned>(0),
                       static_cast<std::size_t>(lookup_table_bytes(call.params)));
        },
    .run =
        [](const Call& call) {
          with_lookup_chain(call, [&](auto chain) {
            launch(call, lookup_constant<chain>, call.operand<mem<unsigned>>(1), lookup_size(call, "n"),
                   lookup_size(call, "rounds"), lookup_size(call, "rows"), lookup_size(call, "distinct"));
          });
        },
});

}  // namespace
}  // namespace rung
