/// The library at its fastest: our rungs are compared with the fastest of the first sixteen kernels that cublasLt's
/// heuristics propose, which is found once for each shape. Source: NVIDIA cuBLAS, cublasLtMatmul and
/// cublasLtMatmulAlgoGetHeuristic.
#include "common/problem/matmul.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// cublasLt takes 8-bit numbers only by rows of k, as tensor cores do (cuBLAS documentation, cublasLtMatmul).
std::vector<std::string> layouts_of_cublaslt(Type type) {
  return type_bytes(type) == 1 ? std::vector<std::string>{} : std::vector<std::string>{"layout"};
}

template <typename Input, typename Output = float>
bool add_cublaslt(const char* name, Type type) {
  return add_gpu_kernel({
      .name = name,
      .order = 91,
      .title = "cublasLt",
      .idea = "The fastest of the sixteen kernels that NVIDIA's library proposes: what a user obtains by timing them.",
      .source = {{"cublas", "cublasLtMatmul"}},
      .type = type,
      .is_library = true,
      .is_general = library_unit(type) == 1,
      .takes = layouts_of_cublaslt(type),
      .refuse = [type](const Params& p) { return refuse_by_library(p, type); },
      .gpu = {.min_compute_capability = library_capability(type), .not_emulated = "a closed library"},
      .run =
          [type](const Call& call) {
            cublaslt_matmul(call, untyped(matmul_of<Input, Output>(call, layout_of(call.params, type))), type);
          },
  });
}

const bool added = add_cublaslt<float>("gpu/matmul/cublaslt", Type::fp32) &&
                   add_cublaslt<Bf16>("gpu/matmul/cublaslt_bf16", Type::bf16) &&
                   add_cublaslt<Fp16>("gpu/matmul/cublaslt_fp16", Type::fp16) &&
                   add_cublaslt<float>("gpu/matmul/cublaslt_tf32", Type::tf32) &&
                   add_cublaslt<Fp8>("gpu/matmul/cublaslt_fp8", Type::fp8) &&
                   add_cublaslt<std::int8_t, std::int32_t>("gpu/matmul/cublaslt_int8", Type::int8);

}  // namespace
}  // namespace rung
