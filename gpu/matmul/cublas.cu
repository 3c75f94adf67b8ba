/// The library as a peer: cuBLAS in full FP32 on the same operands, the same stream and the same clock as our rungs.
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
    .idea = "NVIDIA's library picks among kernels tuned for each GPU: what a user would call instead.",
    .source = "NVIDIA cuBLAS, cublasSgemm",
    .is_library = true,
    .not_emulated = "a closed library",
    .run =
        [](const Call& call) {
          const auto [m, n, k] = matmul_shape(call.params);
          cublas_sgemm(call, m, n, k, call.operand<void>(0), call.operand<void>(1), call.operand<void>(2));
        },
});

}  // namespace
}  // namespace rung
