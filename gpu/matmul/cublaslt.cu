/// The library as a stronger peer: of the first eight kernels that cublasLt's heuristics propose, our rungs are
/// compared with the fastest, which is found once for each shape. Source: NVIDIA cuBLAS, cublasLtMatmul and
/// cublasLtMatmulAlgoGetHeuristic.
#include "common/problem/matmul.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/cublaslt",
    .order = 91,
    .title = "cublasLt",
    .idea = "The fastest of the eight kernels that NVIDIA's library proposes: what a user obtains by timing them.",
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
