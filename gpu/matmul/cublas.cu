/// The library for comparison: cuBLAS, on the same operands and timed in the same way as our rungs.
/// Source: NVIDIA cuBLAS, cublasSgemm and cublasGemmEx.
#include "common/problem/matmul.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

template <typename Input, typename Output = float>
bool add_cublas(const char* name, Type type) {
  return add_gpu_kernel({
      .name = name,
      .order = 90,
      .title = "cuBLAS",
      .idea = "NVIDIA's library, which selects among kernels tuned for each GPU: what a user would call instead.",
      .source = {{"cublas", "cublasSgemm, cublasGemmEx"}},
      .type = type,
      .is_library = true,
      .is_general = library_unit(type) == 1,
      .takes = {"layout"},
      .refuse = [type](const Params& p) { return refuse_by_library(p, type); },
      .gpu = {.min_compute_capability = library_capability(type), .not_emulated = "a closed library"},
      .run =
          [type](const Call& call) {
            cublas_matmul(call, untyped(matmul_of<Input, Output>(call, layout_of(call.params, type))), type);
          },
  });
}

const bool added =
    add_cublas<float>("gpu/matmul/cublas", Type::fp32) && add_cublas<Bf16>("gpu/matmul/cublas_bf16", Type::bf16) &&
    add_cublas<Fp16>("gpu/matmul/cublas_fp16", Type::fp16) && add_cublas<float>("gpu/matmul/cublas_tf32", Type::tf32) &&
    add_cublas<std::int8_t, std::int32_t>("gpu/matmul/cublas_int8", Type::int8);

}  // namespace
}  // namespace rung
