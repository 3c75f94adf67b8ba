/// The library as a peer: CUB's scan, which also looks back in one pass, with parameters tuned for each GPU. It clears
/// the tiles' words by a launch of its own.
#include "gpu/simt/simt.hpp"

#ifdef __CUDACC__
#include <cub/device/device_scan.cuh>
#endif

namespace rung {
namespace {

/// More than CUB asks for: 8 bytes a tile of at least 512 elements. It refuses to run if that is not enough.
std::size_t temporary_bytes(const Params& p) { return (std::size_t{1} << 16) + p.at("n") / 512 * 8; }

void scan_by_cub([[maybe_unused]] const Call& call) {
#ifdef __CUDACC__
  std::size_t bytes = temporary_bytes(call.params);
  check_cuda(
      cub::DeviceScan::InclusiveSum(call.operand<void>(2), bytes, call.operand<const float>(0), call.operand<float>(1),
                                    static_cast<int>(call.params.at("n")), static_cast<cudaStream_t>(call.stream)),
      "cub::DeviceScan::InclusiveSum");
#endif
}

const bool added = add_gpu_kernel({
    .name = "gpu/prefix_sum/cub",
    .order = 90,
    .title = "CUB",
    .idea = "NVIDIA's library of parallel primitives, tuned for each GPU: what a user would call instead.",
    .source = {{"cub", "DeviceScan"}},
    .is_library = true,
    .scratch =
        [](const Params& p) {
          return std::vector{Operand{.name = "temporary storage",
                                     .elements = temporary_bytes(p) / 4,
                                     .type = Type::uint32,
                                     .role = Role::scratch}};
        },
    .gpu = {.not_emulated = "a library of CUDA C++ templates, which only nvcc compiles"},
    .run = scan_by_cub,
});

}  // namespace
}  // namespace rung
