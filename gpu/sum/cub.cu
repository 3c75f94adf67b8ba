/// The library as a peer: CUB's reduction, in one or two launches by the number of elements.
#include "gpu/simt/simt.hpp"

#ifdef __CUDACC__
#include <cub/device/device_reduce.cuh>
#endif

namespace rung {
namespace {

constexpr std::size_t kTemporaryBytes = 1 << 20;  ///< more than CUB asks for, a sum of each block that is resident

void sum_by_cub([[maybe_unused]] const Call& call) {
#ifdef __CUDACC__
  std::size_t bytes = kTemporaryBytes;
  check_cuda(cub::DeviceReduce::Sum(call.operand<void>(2), bytes, call.operand<const float>(0), call.operand<float>(1),
                                    static_cast<int>(call.params.at("n")), static_cast<cudaStream_t>(call.stream)),
             "cub::DeviceReduce::Sum");
#endif
}

const bool added = add_gpu_kernel({
    .name = "gpu/sum/cub",
    .order = 90,
    .title = "CUB",
    .idea = "NVIDIA's library of parallel primitives, tuned for each GPU: what a user would call instead.",
    .source = {{"cub", "DeviceReduce"}},
    .is_library = true,
    .scratch =
        [](const Params&) {
          return std::vector{Operand{.name = "temporary storage",
                                     .elements = kTemporaryBytes / 4,
                                     .type = Type::uint32,
                                     .role = Role::scratch}};
        },
    .gpu = {.not_emulated = "a library of CUDA C++ templates, which only nvcc compiles"},
    .run = sum_by_cub,
});

}  // namespace
}  // namespace rung
