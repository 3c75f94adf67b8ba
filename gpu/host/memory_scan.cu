#include <algorithm>
#include <random>

#include "gpu/host/cuda_error.hpp"
#include "gpu/host/memory_scan.hpp"

namespace rung {
namespace {

using Word = unsigned long long;

constexpr unsigned kThreads = 256, kMostBlocks = 4096;
constexpr std::size_t kPart = sizeof(ulonglong2);

__device__ Word scrambled(Word z) {  // the end of SplitMix64
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// Both words of 16 bytes and their place.
struct Scrambled {
  Word key;
  __device__ Word operator()(ulonglong2 part, Word place) const {
    return scrambled(scrambled((place + 1) * 0x9E3779B97F4A7C15ull + key + part.x) + part.y);
  }
};

/// 1 if the 16 bytes are not `word` twice.
struct Differs {
  Word word;
  __device__ Word operator()(ulonglong2 part, Word) const { return part.x != word || part.y != word; }
};

/// Adds of(part, index) of each 16 bytes to `sum`; if the last part is shorter, it is completed with bytes of `rest`.
template <typename Function>
__global__ void sum_up(const unsigned char* memory, std::size_t bytes, Function of, ulonglong2 rest, Word* sum) {
  const auto* const parts = reinterpret_cast<const ulonglong2*>(memory);
  const Word whole = bytes / kPart, all = static_cast<Word>(gridDim.x) * kThreads;
  const Word first = static_cast<Word>(blockIdx.x) * kThreads + threadIdx.x;
  Word own = 0;
#pragma unroll 4
  for (Word i = first; i < whole; i += all) own += of(parts[i], i);
  if (first == 0 && bytes % kPart) {
    for (std::size_t i = whole * kPart; i < bytes; ++i) reinterpret_cast<unsigned char*>(&rest)[i % kPart] = memory[i];
    own += of(rest, whole);
  }
  for (int apart = 16; apart > 0; apart /= 2) own += __shfl_down_sync(0xffffffffu, own, apart);
  if (threadIdx.x % 32 == 0 && own) atomicAdd(sum, own);
}

template <typename Function>
void scan(const void* memory, std::size_t bytes, Function of, ulonglong2 rest, Word* sum, cudaStream_t stream) {
  const auto blocks = std::clamp<std::size_t>(bytes / kPart / kThreads / 4, 1, kMostBlocks);
  sum_up<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(static_cast<const unsigned char*>(memory), bytes, of,
                                                                 rest, sum);
}

}  // namespace

MemoryScan::MemoryScan() : key_((std::uint64_t{std::random_device()()} << 32) | std::random_device()()) {
  check_cuda(cudaMalloc(&sum_, sizeof *sum_), "allocating GPU memory");
}

MemoryScan::~MemoryScan() { cudaFree(sum_); }

template <typename Launch>
std::uint64_t MemoryScan::summed(cudaStream_t stream, const Launch& launch) {
  Word sum = 0;
  check_cuda(cudaMemsetAsync(sum_, 0, sizeof *sum_, stream), "filling GPU memory");
  launch();
  check_cuda(cudaGetLastError(), "scanning GPU memory");
  check_cuda(cudaMemcpyAsync(&sum, sum_, sizeof sum, cudaMemcpyDeviceToHost, stream), "copying from the GPU");
  check_cuda(cudaStreamSynchronize(stream), "scanning GPU memory");
  return sum;
}

std::uint64_t MemoryScan::fingerprint(const void* memory, std::size_t bytes, cudaStream_t stream) {
  return summed(stream, [&] { scan(memory, bytes, Scrambled{key_}, {0, 0}, sum_, stream); });
}

bool MemoryScan::is_filled(const void* memory, std::size_t bytes, unsigned char byte, cudaStream_t stream) {
  const Word word = byte * 0x0101010101010101ull;
  return summed(stream, [&] { scan(memory, bytes, Differs{word}, {word, word}, sum_, stream); }) == 0;
}

}  // namespace rung
