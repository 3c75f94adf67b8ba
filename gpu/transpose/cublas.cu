/// The library for comparison: cuBLAS's sum of two matrices, the first one transposed, with a factor of 0 for the
/// second.
/// Source: NVIDIA cuBLAS, cublasSgeam.
#include "common/problem/transpose.hpp"
#include "gpu/simt/cublas.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

const bool added = add_gpu_kernel({
    .name = "gpu/transpose/cublas",
    .order = 90,
    .title = "cuBLAS",
    .idea = "NVIDIA's library, whose sum of two matrices can transpose one and leave the other out.",
    .source = {{"cublas", "cublasSgeam"}},
    .is_library = true,
    .gpu = {.not_emulated = "a closed library"},
    .run =
        [](const Call& call) {
          cublas_transpose(call, call.operand<const float>(0), call.operand<float>(1),
                           static_cast<int>(call.params.at("m")), static_cast<int>(call.params.at("n")));
        },
});

}  // namespace
}  // namespace rung
