/// All threads, each with private counters in its L1 cache: they synchronise only at the end, when the counters are
/// added.
#include "cpu/histogram/private_counters.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/histogram/openmp",
    .order = 20,
    .title = "OpenMP, own counters",
    .idea = "Each thread counts its part of the values in private counters, which are added at the end.",
    .source = {{"pmpp", "section 9.4"}, {"openmp", "critical construct"}},
    .type = Type::int8,
    .run =
        [](const Call& call) {
          count_privately(call,
                          [](std::uint32_t* own, const unsigned char* values, std::int64_t begin, std::int64_t end) {
                            for (std::int64_t i = begin; i < end; ++i) ++own[values[i]];
                          });
        },
});

}  // namespace
}  // namespace rung
