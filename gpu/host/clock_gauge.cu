#include "gpu/host/clock_gauge.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung {
namespace {

constexpr double kShortest = 1e5;      // ns: the timer's steps of 1 us are one per cent of it
constexpr unsigned kBlocksOfEach = 2;  // so that every multiprocessor gets one, wherever the first blocks run

__global__ void read_counters(ulonglong2* stamps, unsigned count) {
  unsigned multiprocessor;
  unsigned long long ns;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(multiprocessor));
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  const long long cycles = clock64();
  if (multiprocessor < count) stamps[multiprocessor] = {ns, static_cast<unsigned long long>(cycles)};
}

}  // namespace

ClockGauge::ClockGauge(int multiprocessors)
    : count_(static_cast<unsigned>(multiprocessors)), read_(2 * std::size_t{count_}) {
  check_cuda(cudaMalloc(&stamps_, read_.size() * sizeof(ulonglong2)), "allocating the stamps of the clock");
}

ClockGauge::~ClockGauge() { cudaFree(stamps_); }

void ClockGauge::stamp(cudaStream_t stream, int which) {
  ulonglong2* const stamps = stamps_ + which * std::size_t{count_};
  check_cuda(cudaMemsetAsync(stamps, 0, count_ * sizeof(ulonglong2), stream), "clearing the stamps of the clock");
  read_counters<<<kBlocksOfEach * count_, 1, 0, stream>>>(stamps, count_);
  check_cuda(cudaGetLastError(), "reading the multiprocessors' counters");
}

void ClockGauge::add(cudaStream_t stream) {
  check_cuda(cudaMemcpyAsync(read_.data(), stamps_, read_.size() * sizeof(ulonglong2), cudaMemcpyDeviceToHost, stream),
             "copying the stamps of the clock");
  check_cuda(cudaStreamSynchronize(stream), "copying the stamps of the clock");
  double cycles = 0, ns = 0;
  for (unsigned i = 0; i < count_; ++i) {
    const auto [begin_ns, begin_cycles] = read_[i];
    const auto [end_ns, end_cycles] = read_[count_ + i];
    if (begin_ns == 0 || end_ns <= begin_ns || end_cycles <= begin_cycles) continue;  // no block ran there both times
    cycles += static_cast<double>(end_cycles - begin_cycles);
    ns += static_cast<double>(end_ns - begin_ns);
  }
  cycles_ += cycles / count_;
  ns_ += ns / count_;
}

std::optional<double> ClockGauge::mhz() const {
  if (ns_ < kShortest) return std::nullopt;
  return 1e3 * cycles_ / ns_;
}

}  // namespace rung
