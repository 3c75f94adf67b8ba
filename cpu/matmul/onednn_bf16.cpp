/// The peer among libraries for bfloat16: oneDNN's matrix product, on AMX or AVX-512 as the CPU has them.
#include "cpu/onednn.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/matmul/onednn_bf16",
    .order = 90,
    .title = "oneDNN",
    .idea = "The peer among deep-learning libraries: code generated for the shape and the CPU's matrix units.",
    .source = {{"onednn", onednn_name() + ", matmul primitive"}},
    .type = Type::bf16,
    .is_library = true,
    .is_general = true,
    .refuse = refuse_onednn<Bf16>,
    .run = [](const Call& call) { matmul_onednn(matmul_of<Bf16>(call)); },
});

}  // namespace
}  // namespace rung
