/// Faults with memory that a thread has got from malloc.
#include "gpu/simt/heap_and_stack.hpp"
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 32, kWords = 4;
constexpr std::size_t kBytes = kThreads * sizeof(int);
const std::vector<std::string> kOutside = {"out of bounds"};

/// The sum of the elements that a thread has stored to an array of its own.
template <int kLast, bool kFreedBefore>
__global__ void sum_of_own_array(const mem<int>* in, mem<int>* out) {
  auto* words = static_cast<mem<int>*>(malloc(kWords * sizeof(int)));
  if (!words) return;
  for (int j = 0; j < kWords; ++j) words[j] = in[threadIdx.x] + j;
  if constexpr (kFreedBefore) free(words);
  int sum = 0;
  for (int j = 0; j <= kLast; ++j) sum += words[j];
  if constexpr (!kFreedBefore) free(words);
  out[threadIdx.x] = sum;
}

const bool beyond = add_faulty({.name = "heap_read_beyond_by_one",
                                .what = "memory from malloc: reads one element beyond the end",
                                .findings = kOutside,
                                .launch = {{1}, {kThreads}},
                                .buffers = {{"in", kBytes}, {"out", kBytes}},
                                .run = on_buffers(sum_of_own_array<kWords, false>),
                                .right = on_buffers(sum_of_own_array<kWords - 1, false>)});
const bool freed = add_faulty({.name = "heap_read_after_free",
                               .what = "memory from malloc: reads it when it has been freed",
                               .findings = kOutside,
                               .launch = {{1}, {kThreads}},
                               .buffers = {{"in", kBytes}, {"out", kBytes}},
                               .run = on_buffers(sum_of_own_array<kWords - 1, true>)});

template <bool kTwice>
__global__ void frees(mem<int>* out) {
  auto* words = static_cast<mem<int>*>(malloc(kWords * sizeof(int)));
  if (!words) return;
  words[0] = static_cast<int>(threadIdx.x);
  out[threadIdx.x] = words[0];
  free(words);
  if constexpr (kTwice) free(words);
}

const bool twice = add_faulty({.name = "heap_freed_twice",
                               .what = "memory from malloc is freed twice",
                               .findings = kOutside,
                               .launch = {{1}, {kThreads}},
                               .buffers = {{"out", kBytes}},
                               .run = on_buffers(frees<true>),
                               .right = on_buffers(frees<false>)});

}  // namespace
}  // namespace rung
