/// The peer among libraries for bfloat16: oneDNN's matrix product, on AMX or AVX-512 as the CPU has them.
#include "cpu/matmul/onednn.hpp"

namespace rung {
namespace {

/// Whether oneDNN makes a product of bfloat16 for this CPU at all.
std::string refuse_onednn() {
  try {
    OnednnProduct<Bf16>({.m = 64, .n = 64, .k = 64, .lda = 64, .ldb = 64, .ldc = 64});
    return "";
  } catch (const dnnl::error& error) {
    if (error.status != dnnl_unimplemented) throw Error(std::string("oneDNN: ") + error.what());
    return "oneDNN has no product of bfloat16 for this CPU";
  }
}

const bool added = add_kernel({
    .name = "cpu/matmul_bf16/onednn",
    .order = 90,
    .title = "oneDNN",
    .idea = "The peer among deep-learning libraries: code generated for the shape and the CPU's matrix units.",
    .source = "oneDNN " + onednn_version() + ", matmul primitive",
    .precision = "bf16",
    .is_library = true,
    .is_general = true,
    .refuse =
        [](const Params&) {
          static const std::string reason = refuse_onednn();
          return reason;
        },
    .run = [](const Call& call) { matmul_onednn(matmul_of<Bf16>(call)); },
});

}  // namespace
}  // namespace rung
