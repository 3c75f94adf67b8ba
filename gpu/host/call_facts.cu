#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "gpu/host/call_facts.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung {
namespace {

constexpr int kRepetitions = 9, kEvents = 256;
constexpr long long kSpin = 1 << 20;  // clocks: about half a millisecond

__device__ int kept;
__constant__ int addend;

__global__ void spin(long long clocks) {
  const long long begin = clock64();
  while (clock64() - begin < clocks) {
  }
}
__global__ void store_kept(int value) { kept = value; }
__global__ void add_to_kept() { kept += addend; }

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::array<double, kRepetitions> all) {
  std::sort(all.begin(), all.end());
  return all[kRepetitions / 2];
}

void wait() { check_cuda(cudaDeviceSynchronize(), "waiting for the GPU"); }

void time_launches(CallFacts& facts) {
  std::array<double, kRepetitions> returned{}, ended{};
  spin<<<1, 1>>>(1);
  wait();
  for (int i = 0; i < kRepetitions; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    spin<<<1, 1>>>(kSpin);
    returned[i] = seconds_since(begin);
    wait();
    ended[i] = seconds_since(begin);
  }
  facts.launch_seconds = median(returned);
  facts.launched_seconds = median(ended);
}

/// The smallest step of events' times, from events between kernels of slowly growing length: the intervals differ by a
/// few steps.
double event_step() {
  std::vector<cudaEvent_t> events(kEvents);
  for (cudaEvent_t& event : events) check_cuda(cudaEventCreate(&event), "creating an event");
  for (int i = 0; i < kEvents; ++i) {
    check_cuda(cudaEventRecord(events[i]), "recording an event");
    spin<<<1, 1>>>(16 * i);
  }
  wait();
  std::vector<float> milliseconds(kEvents);
  for (int i = 1; i < kEvents; ++i)
    check_cuda(cudaEventElapsedTime(&milliseconds[i], events[i - 1], events[i]), "reading an event");
  for (cudaEvent_t event : events) cudaEventDestroy(event);
  std::sort(milliseconds.begin(), milliseconds.end());
  double least = milliseconds.back();
  for (int i = 1; i < kEvents; ++i)
    if (const double step = milliseconds[i] - milliseconds[i - 1]; step > 1e-6) least = std::min(least, step);
  return least * 1e-3;
}

/// Three launches after the host has stored a constant once.
bool keeps_variables() {
  const int constant = 10;
  int found = 0;
  std::size_t bytes = 0;
  check_cuda(cudaMemcpyToSymbol(addend, &constant, sizeof constant), "storing a __constant__ variable");
  store_kept<<<1, 1>>>(22);
  add_to_kept<<<1, 1>>>();
  add_to_kept<<<1, 1>>>();
  check_cuda(cudaMemcpyFromSymbol(&found, kept, sizeof found), "reading a __device__ variable");
  check_cuda(cudaGetSymbolSize(&bytes, kept), "reading the size of a __device__ variable");
  return found == 42 && bytes == sizeof found;
}

/// With a launch that no GPU accepts: only that call fails.
bool resets_error() {
  spin<<<1, 1 << 20>>>(1);
  const cudaError_t first = cudaGetLastError(), second = cudaGetLastError();
  return first != cudaSuccess && second == cudaSuccess;
}

}  // namespace

CallFacts call_facts() {
  static const CallFacts known = [] {
    CallFacts facts;
    time_launches(facts);
    facts.event_step_seconds = event_step();
    facts.keeps_variables = keeps_variables();
    facts.resets_error = resets_error();
    return facts;
  }();
  return known;
}

}  // namespace rung
