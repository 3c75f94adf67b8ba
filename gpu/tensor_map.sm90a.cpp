/// TMA's tensor maps and the workspace of the rungs for compute capability 9.0.
#include "gpu/hopper.hpp"

#include <cudaTypedefs.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <array>
#include <utility>

#include "common/registry.hpp"
#include "gpu/cuda_error.hpp"

namespace rung::hopper {
namespace {

/// The driver's function, asked of the runtime, so that nothing links with the driver.
PFN_cuTensorMapEncodeTiled_v12000 encoder() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &function, 12000, cudaEnableDefault, &found),
             "asking for cuTensorMapEncodeTiled");
  if (found != cudaDriverEntryPointSuccess)
    throw Error("the driver has no cuTensorMapEncodeTiled: it is older than 12.0");
  return reinterpret_cast<PFN_cuTensorMapEncodeTiled_v12000>(function);
}

CUtensorMap encoded(const BoxedMatrix& of) {
  static const auto encode = encoder();
  CUtensorMap map{};
  const cuuint64_t size[2] = {static_cast<cuuint64_t>(of.cols), static_cast<cuuint64_t>(of.rows)};
  const cuuint64_t stride[1] = {static_cast<cuuint64_t>(of.pitch) * sizeof(float)};
  const cuuint32_t box[2] = {static_cast<cuuint32_t>(of.box_cols), static_cast<cuuint32_t>(of.box_rows)};
  const cuuint32_t step[2] = {1, 1};
  const CUresult result = encode(&map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, const_cast<float*>(of.at), size, stride, box,
                                 step, CU_TENSOR_MAP_INTERLEAVE_NONE, of.swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                 CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS)
    throw Error(fmt::format("cuTensorMapEncodeTiled refuses a matrix of {} x {} elements with rows {} apart: error {}",
                            of.rows, of.cols, of.pitch, static_cast<int>(result)));
  return map;
}

/// Device memory of at least so many elements; what it held is lost when it grows.
template <typename T>
class Growing {
 public:
  Growing() = default;
  Growing(const Growing&) = delete;
  Growing& operator=(const Growing&) = delete;
  ~Growing() { cudaFree(memory_); }  // CUDA may have ended before: then it has freed it, and says so to nobody

  T* at_least(std::size_t elements, const char* what) {
    if (elements <= elements_) return memory_;
    check_cuda(cudaFree(std::exchange(memory_, nullptr)), what);
    elements_ = 0;
    check_cuda(cudaMalloc(reinterpret_cast<void**>(&memory_), elements * sizeof(T)), what);
    check_cuda(cudaMemset(memory_, 0, elements * sizeof(T)), what);
    check_cuda(cudaDeviceSynchronize(), what);  // the calls that use it are on streams that do not wait for a memset
    elements_ = elements;
    return memory_;
  }

 private:
  T* memory_ = nullptr;
  std::size_t elements_ = 0;
};

}  // namespace

CUtensorMap tensor_map(const BoxedMatrix& of) {
  struct Known {
    BoxedMatrix of;
    CUtensorMap map;
  };
  static std::array<Known, 8> known{};  // a timed loop asks for the same ones again and again
  static std::size_t oldest = 0;
  for (const Known& one : known)
    if (one.of == of) return one.map;
  known[oldest] = {of, encoded(of)};
  return known[std::exchange(oldest, (oldest + 1) % known.size())].map;
}

Workspace& workspace(std::size_t a, std::size_t b, std::size_t partials, std::size_t flags) {
  static Growing<float> memory_a, memory_b, memory_partials;
  static Growing<unsigned> memory_flags;
  static Workspace space;
  space.a = memory_a.at_least(a, "the workspace for A");
  space.b = memory_b.at_least(b, "the workspace for B");
  space.partials = memory_partials.at_least(partials, "the workspace for partial sums");
  space.flags = memory_flags.at_least(flags, "the workspace for flags");
  if (++space.epoch == 0) space.epoch = 1;  // 0 is what fresh flags say
  return space;
}

}  // namespace rung::hopper
