/// The device's limits on kernels' memory: by malloc, and on the stack for nested calls.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include "common/machine/target.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung {
namespace {

/// Some KiB for every thread that a GPU holds at once. One size for all kernels, since the heap cannot grow once a
/// kernel that calls malloc is loaded.
constexpr std::size_t kHeapBytes = std::size_t{1} << 30;
constexpr std::size_t kStackBytes = 8 << 10;  // for some hundred nested calls

std::size_t limit_now(cudaLimit limit) {
  std::size_t bytes = 0;
  check_cuda(cudaDeviceGetLimit(&bytes, limit), "reading a limit of the GPU");
  return bytes;
}

/// Enlarges the heap if possible and returns its size: a profiler may have loaded all kernels already.
std::size_t raised_heap() {
  if (limit_now(cudaLimitMallocHeapSize) < kHeapBytes &&
      cudaDeviceSetLimit(cudaLimitMallocHeapSize, kHeapBytes) != cudaSuccess)
    cudaGetLastError();  // otherwise the next launch would seem to have failed
  return limit_now(cudaLimitMallocHeapSize);
}

}  // namespace

void need_device_heap(double bytes) {
  static const std::size_t heap = raised_heap();
  if (bytes > static_cast<double>(heap))
    throw Error(
        fmt::format("its threads hold {:.1f} MB at once, and the device's heap has {:.1f} MB: CUDA does not enlarge it "
                    "once a kernel that calls malloc is loaded",
                    bytes * 1e-6, static_cast<double>(heap) * 1e-6));
}

void need_device_stack() {
  static const std::size_t before = limit_now(cudaLimitStackSize);
  static const bool done =
      before >= kStackBytes ||
      (check_cuda(cudaDeviceSetLimit(cudaLimitStackSize, kStackBytes), "setting the size of a thread's stack"), true);
  static_cast<void>(done);
}

}  // namespace rung
