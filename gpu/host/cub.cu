/// CUB's algorithms, each behind a function: only this file compiles its headers.
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "common/problem/histogram.hpp"
#include "gpu/host/cuda_error.hpp"
#include "gpu/simt/cub.hpp"

namespace rung {
namespace {

int elements(const Call& call) { return static_cast<int>(call.params.at("n")); }
cudaStream_t stream(const Call& call) { return static_cast<cudaStream_t>(call.stream); }

}  // namespace

void cub_sum(const Call& call, std::size_t storage_bytes) {
  check_cuda(cub::DeviceReduce::Sum(call.operand<void>(2), storage_bytes, call.operand<const float>(0),
                                    call.operand<float>(1), elements(call), stream(call)),
             "cub::DeviceReduce::Sum");
}

void cub_prefix_sum(const Call& call, std::size_t storage_bytes) {
  check_cuda(cub::DeviceScan::InclusiveSum(call.operand<void>(2), storage_bytes, call.operand<const float>(0),
                                           call.operand<float>(1), elements(call), stream(call)),
             "cub::DeviceScan::InclusiveSum");
}

void cub_histogram(const Call& call, std::size_t storage_bytes) {
  check_cuda(
      cub::DeviceHistogram::HistogramEven(call.operand<void>(2), storage_bytes, call.operand<const unsigned char>(0),
                                          call.operand<unsigned>(1), kBins + 1, 0, kBins, elements(call), stream(call)),
      "cub::DeviceHistogram::HistogramEven");
}

}  // namespace rung
