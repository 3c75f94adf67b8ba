/// The library as a stronger peer: cublasLt tells which kernels its heuristics would take, and the fastest of the first
/// eight, timed once for each shape, is the one that our rungs are compared with.
/// Source: NVIDIA cuBLAS, cublasLtMatmul and cublasLtMatmulAlgoGetHeuristic.
#include "common/problem/matmul.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/cublaslt",
    .order = 91,
    .title = "cublasLt",
    .idea = "The fastest of the eight kernels that NVIDIA's library proposes: what a user gets who times them.",
    .source = {{"cublas", "cublasLtMatmul"}},
    .is_library = true,
    .is_general = true,
    .gpu =
        {
            .not_emulated = "a closed library",
        },
    .run = [](const Call& call) { cublaslt_sgemm(call, matmul_of(call)); },
});

}  // namespace
}  // namespace rung
