/// Eight values per load, each into a different set of the thread's counters: equal neighbours no longer wait for each
/// other's counter, and eight sets of 256 still fit into L1 with room for the values.
#include <cstring>

#include "cpu/histogram/private_counters.hpp"

namespace rung {
namespace {

constexpr int kSets = 8;  // one for each byte of a load
/// One line more than the bins: otherwise counters of equal values would be 4096 bytes apart in every fourth set, and a
/// load of one would wait for the store of the other, since the core first compares the low bits of their addresses.
constexpr int kStride = kBins + 16;

void count_in_sets(std::uint32_t* own, const unsigned char* values, std::int64_t begin, std::int64_t end) {
  std::uint32_t sets[kSets][kStride] = {};
  std::int64_t i = begin;
  for (; i + kSets <= end; i += kSets) {
    std::uint64_t eight;
    std::memcpy(&eight, values + i, sizeof eight);
#pragma GCC unroll 8
    for (int set = 0; set < kSets; ++set) ++sets[set][eight >> (8 * set) & 0xff];
  }
  for (; i < end; ++i) ++own[values[i]];
  for (const auto& set : sets)
    for (int bin = 0; bin < kBins; ++bin) own[bin] += set[bin];
}

const bool added = add_kernel({
    .name = "cpu/histogram/several_sets",
    .order = 30,
    .title = "OpenMP, eight sets",
    .idea =
        "Eight values per load, each into a different set of counters: equal neighbours need not wait for each other.",
    .source = {{"intel-optimization", "store forwarding, 4 KiB aliasing"}},
    .type = Type::int8,
    .run = [](const Call& call) { count_privately(call, count_in_sets); },
});

}  // namespace
}  // namespace rung
