/// How many clusters of blocks the GPU holds at once.
#include <map>

#include "common/machine/device_facts.hpp"
#include "gpu/cuda_error.hpp"

namespace rung {
namespace {

__global__ void empty_kernel() {}

int asked_clusters(int blocks) {
  int device = 0, most_shared = 0, clusters = 0;
  check_cuda(cudaGetDevice(&device), "asking for the current GPU");
  check_cuda(cudaDeviceGetAttribute(&most_shared, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
             "asking for its shared memory");
  check_cuda(cudaFuncSetAttribute(empty_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared),
             "asking for all of it");
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim = {static_cast<unsigned>(blocks), 1, 1};
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(blocks), config.blockDim = dim3(32);
  config.dynamicSmemBytes = most_shared;  // so that no two blocks fit on a multiprocessor
  config.attrs = &cluster, config.numAttrs = 1;
  check_cuda(cudaOccupancyMaxActiveClusters(&clusters, empty_kernel, &config), "asking for clusters at once");
  return clusters;
}

}  // namespace

std::optional<int> present_gpu_clusters(int blocks) {
  if (!present_gpu_facts()) return std::nullopt;
  static std::map<int, int> known;
  const auto [found, is_new] = known.try_emplace(blocks, 0);
  if (is_new) found->second = asked_clusters(blocks);
  return found->second;
}

}  // namespace rung
