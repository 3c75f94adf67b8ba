#include <cuda_profiler_api.h>

#include "gpu/cuda_error.hpp"
#include "gpu/point_marker.hpp"

namespace rung {
namespace {

__global__ void rung_point_begins() {}

}  // namespace

Watched::Watched() { check_cuda(cudaProfilerStart(), "telling the profiler to watch"); }
Watched::~Watched() { cudaProfilerStop(); }

void mark_point(cudaStream_t stream) {
  const Watched watched;
  rung_point_begins<<<1, 1, 0, stream>>>();
  check_cuda(cudaGetLastError(), "marking where a point begins");
  check_cuda(cudaStreamSynchronize(stream), "marking where a point begins");
}

}  // namespace rung
