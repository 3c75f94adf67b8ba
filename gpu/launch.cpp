/// The one place where a kernel is launched, or asked what it needs.
#include <fmt/format.h>

#include <unordered_map>

#include "gpu/cuda_error.hpp"
#include "gpu/simt/cuda.hpp"

namespace rung {
namespace {

/// Lets `kernel` have `bytes` of dynamic shared memory: above 48 KB only a kernel that was told so gets them. The
/// largest share of the common memory goes to shared memory then, so that as many blocks are resident as the occupancy
/// API says. Asked once for each kernel and size: the calls between two timed launches must cost nothing.
void allow_shared(const void* kernel, std::size_t bytes) {
  static std::unordered_map<const void*, std::size_t> allowed;
  std::size_t& most = allowed[kernel];
  if (bytes <= most) return;
  check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes)),
             fmt::format("launch failed: {} bytes of dynamic shared memory for a block", bytes).c_str());
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "preferring shared memory to L1");
  most = bytes;
}

Resources inspect(const void* kernel, const Launch& launch) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "asking for a kernel's resources");
  Resources resources{.registers_per_thread = attributes.numRegs,
                      .static_shared_bytes = attributes.sharedSizeBytes,
                      .local_bytes = attributes.localSizeBytes};
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &resources.blocks_per_sm, kernel, static_cast<int>(launch.block.count()), launch.dynamic_shared_bytes),
             "asking for a kernel's occupancy");
  return resources;
}

dim3 to_dim3(const Extent& extent) { return {extent.x, extent.y, extent.z}; }

}  // namespace

void launch_on_device(const Call& call, const void* kernel, void** arguments, bool early) {
  const auto& [grid, block, shared] = call.launch;
  if (shared > 0) allow_shared(kernel, shared);
  if (call.inspect) {
    *call.inspect = inspect(kernel, call.launch);
    return;
  }
  cudaLaunchAttribute may_be_early{};
  may_be_early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  may_be_early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = to_dim3(grid);
  config.blockDim = to_dim3(block);
  config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(call.stream);
  config.attrs = &may_be_early;
  config.numAttrs = early ? 1 : 0;
  check_cuda(cudaLaunchKernelExC(&config, kernel, arguments), "launch failed");
}

}  // namespace rung
