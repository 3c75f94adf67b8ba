/// The library as a peer: CUB's histogram with 256 bins of width 1.
#include "common/problem/histogram.hpp"
#include "gpu/simt/simt.hpp"

#ifdef __CUDACC__
#include <cub/device/device_histogram.cuh>
#endif

namespace rung {
namespace {

constexpr std::size_t kTemporaryBytes = 16
                                        << 20;  ///< more than CUB asks for, a histogram of each block that is resident

void count_by_cub([[maybe_unused]] const Call& call) {
#ifdef __CUDACC__
  std::size_t bytes = kTemporaryBytes;
  check_cuda(cub::DeviceHistogram::HistogramEven(
                 call.operand<void>(2), bytes, call.operand<const unsigned char>(0), call.operand<unsigned>(1),
                 kBins + 1, 0, kBins, static_cast<int>(call.params.at("n")), static_cast<cudaStream_t>(call.stream)),
             "cub::DeviceHistogram::HistogramEven");
#endif
}

const bool added = add_gpu_kernel({
    .name = "gpu/histogram/cub",
    .order = 90,
    .title = "CUB",
    .idea = "NVIDIA's library of parallel primitives, tuned for each GPU: what a user would call instead.",
    .source = {{"cub", "DeviceHistogram"}},
    .type = Type::int8,
    .is_library = true,
    .scratch =
        [](const Params&) {
          return std::vector{Operand{.name = "temporary storage",
                                     .elements = kTemporaryBytes / 4,
                                     .type = Type::uint32,
                                     .role = Role::scratch}};
        },
    .gpu = {.not_emulated = "a library of CUDA C++ templates, which only nvcc compiles"},
    .run = count_by_cub,
});

}  // namespace
}  // namespace rung
