/// The library as a peer: cuBLAS in full FP32, on the same operands and timed in the same way as our rungs.
/// Source: NVIDIA cuBLAS, cublasSgemm.
#include "common/problem/matmul.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/cublas",
    .order = 90,
    .title = "cuBLAS",
    .idea = "NVIDIA's library, which selects among kernels tuned for each GPU: what a user would call instead.",
    .source = {{"cublas", "cublasSgemm"}},
    .is_library = true,
    .is_general = true,
    .gpu =
        {
            .not_emulated = "a closed library",
        },
    .run = [](const Call& call) { cublas_sgemm(call, matmul_of(call)); },
});

}  // namespace
}  // namespace rung
