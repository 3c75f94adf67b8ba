/// The peer among BLAS libraries: OpenBLAS's hand-written micro-kernels, chosen for this CPU at run time.
#include "cpu/openblas.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/matmul/openblas",
    .order = 110,
    .title = "OpenBLAS",
    .idea = "The peer among BLAS libraries: packed panels and a hand-written micro-kernel for this CPU, all threads.",
    .source = {{"openblas", openblas_name() + ", cblas_sgemm"}},
    .is_library = true,
    .is_general = true,
    .refuse = [](const Params&) { return refuse_openblas(); },
    .run = [](const Call& call) { matmul_openblas(matmul_of(call)); },
});

}  // namespace
}  // namespace rung
