/// The peer among deep-learning libraries: oneDNN's matrix product in single precision. It runs on OpenMP's threads.
#include "cpu/onednn.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/matmul/onednn",
    .order = 120,
    .title = "oneDNN",
    .idea = "The peer among deep-learning libraries: code generated at run time for this CPU, all threads.",
    .source = {{"onednn", onednn_name() + ", matmul primitive"}},
    .is_library = true,
    .is_general = true,
    .refuse = refuse_onednn<float>,
    .run = [](const Call& call) { matmul_onednn(matmul_of(call)); },
});

}  // namespace
}  // namespace rung
