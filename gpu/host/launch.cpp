/// The one place where a kernel is launched and its resources are read.
#include "gpu/host/launch.hpp"

#include <fmt/format.h>

#include <unordered_map>

#include "gpu/host/cuda_error.hpp"
#include "gpu/host/timeline.hpp"
#include "gpu/simt/cuda.hpp"

namespace rung {
namespace {

/// Allows `kernel` `bytes` of dynamic shared memory: above 48 KB CUDA requires this. Then shared memory gets its
/// largest share of the memory in common with L1, so that the number of resident blocks is the one that the occupancy
/// API returns. Called once for each kernel and size: the calls between two timed launches must cost nothing.
void allow_shared(const void* kernel, std::size_t bytes) {
  static std::unordered_map<const void*, std::size_t> allowed;
  std::size_t& most = allowed[kernel];
  if (bytes <= most) return;
  const cudaError_t allowing =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  const std::string what = fmt::format("{} bytes of dynamic shared memory per block, in addition to its arrays", bytes);
  if (allowing == cudaErrorInvalidValue) {  // more than this GPU has
    cudaGetLastError();
    throw LaunchRefused(what + ": this GPU has fewer");
  }
  check_cuda(allowing, ("launch failed: " + what).c_str());
  check_cuda(
      cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared),
      "preferring shared memory to L1");
  most = bytes;
}

Resources asked_resources(const void* kernel, const Launch& launch) {
  cudaFuncAttributes attributes{};
  check_cuda(cudaFuncGetAttributes(&attributes, kernel), "reading a kernel's resources");
  Resources resources{.registers_per_thread = attributes.numRegs,
                      .static_shared_bytes = attributes.sharedSizeBytes,
                      .local_bytes = attributes.localSizeBytes};
  check_cuda(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
                 &resources.blocks_per_sm, kernel, static_cast<int>(launch.block.count()), launch.dynamic_shared_bytes),
             "reading a kernel's occupancy");
  return resources;
}

struct Key {
  const void* kernel;
  std::size_t threads, shared_bytes;
  bool operator==(const Key&) const = default;
};

struct Hash {
  std::size_t operator()(const Key& key) const {
    return std::hash<const void*>()(key.kernel) ^ key.threads << 40 ^ key.shared_bytes << 20;
  }
};

/// The resources of a kernel with this launch. Read once: the calls between two timed launches must cost nothing.
/// Throws LaunchRefused if not even one block fits on a multiprocessor.
const Resources& resources_of(const void* kernel, const Launch& launch) {
  static std::unordered_map<Key, Resources, Hash> known;
  const Key key{kernel, launch.block.count(), launch.dynamic_shared_bytes};
  if (const auto found = known.find(key); found != known.end()) return found->second;
  const Resources resources = asked_resources(kernel, launch);
  if (resources.blocks_per_sm < 1)
    throw LaunchRefused(
        fmt::format("no block of {} threads with {} registers each and {} bytes of shared memory fits on "
                    "a multiprocessor of this GPU",
                    key.threads, resources.registers_per_thread, resources.static_shared_bytes + key.shared_bytes));
  return known.emplace(key, resources).first->second;
}

int multiprocessors() {
  int device = 0, count = 0;
  check_cuda(cudaGetDevice(&device), "reading the current GPU");
  check_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device),
             "reading its number of multiprocessors");
  return count;
}

/// Throws LaunchRefused if the GPU does not hold all blocks at once.
void check_all_fit(const Extent& grid, const Resources& resources) {
  const auto fit = static_cast<std::size_t>(resources.blocks_per_sm) * multiprocessors();
  if (grid.count() > fit)
    throw LaunchRefused(
        fmt::format("its {} blocks wait for each other, and this GPU holds {} of them at once", grid.count(), fit));
}

LaunchLog* current_log = nullptr;

dim3 to_dim3(const Extent& extent) { return {extent.x, extent.y, extent.z}; }

}  // namespace

LaunchLog::LaunchLog() { current_log = this; }
LaunchLog::~LaunchLog() { current_log = nullptr; }

std::optional<Resources> LaunchLog::resources_of(const Launch& launch) const {
  for (const auto& [made, resources] : entries_)
    if (made == launch) return resources;
  return std::nullopt;
}

void launch_on_device(const Call& call, const void* kernel, void** arguments, LaunchKind kind) {
  const auto& [grid, block, shared] = call.launch;
  if (shared > 0) allow_shared(kernel, shared);
  const Resources& resources = resources_of(kernel, call.launch);
  if (kind == LaunchKind::cooperative) check_all_fit(grid, resources);
  if (current_log) current_log->entries_.emplace_back(call.launch, resources);
  cudaLaunchAttribute attribute{};
  if (kind == LaunchKind::early) {
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  } else {
    attribute.id = cudaLaunchAttributeCooperative;
    attribute.val.cooperative = 1;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = to_dim3(grid);
  config.blockDim = to_dim3(block);
  config.dynamicSmemBytes = shared;
  config.stream = static_cast<cudaStream_t>(call.stream);
  config.attrs = &attribute;
  config.numAttrs = kind == LaunchKind::ordinary ? 0 : 1;
  const Timeline::Entry entry("kernel", config.stream);
  check_cuda(cudaLaunchKernelExC(&config, kernel, arguments), "launch failed");
}

}  // namespace rung
