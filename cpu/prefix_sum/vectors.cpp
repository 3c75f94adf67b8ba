/// One thread with vector instructions: log2(lanes) additions of the vector and its shifted copy make each lane the sum
/// of all lanes up to it, and only the last addition waits for the previous vector. This is the Hillis–Steele scan, in
/// one register.
#include "cpu/prefix_sum/scan.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/prefix_sum/vectors",
    .order = 20,
    .title = "vectors",
    .idea = "One thread scans within vectors, so that only one addition per vector waits for the previous one.",
    .source = {{"hillis1986"}},
    .cpu = {.is_serial = true},
    .run =
        [](const Call& call) {
          scan_range(call.operand<const float>(0), call.operand<float>(1), 0, call.params.at("n"), 0);
        },
});

}  // namespace
}  // namespace rung
