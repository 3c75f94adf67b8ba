/// Scans the GPU's memory on the GPU, so that nothing has to cross the bus.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace rung {

/// Scans memory that begins at a multiple of 16 bytes. Both functions wait for `stream`.
class MemoryScan {
 public:
  MemoryScan();
  ~MemoryScan();
  MemoryScan(const MemoryScan&) = delete;
  MemoryScan& operator=(const MemoryScan&) = delete;

  /// A sum, modulo 2^64, of a word for every 16 bytes, scrambled from the bytes, their place and a random key of the
  /// process: other bytes, or the same bytes elsewhere, have the same sum with a probability of 2^-64.
  std::uint64_t fingerprint(const void* memory, std::size_t bytes, cudaStream_t stream);
  /// Whether each of the bytes is `byte`.
  bool is_filled(const void* memory, std::size_t bytes, unsigned char byte, cudaStream_t stream);

 private:
  template <typename Launch>
  std::uint64_t summed(cudaStream_t stream, const Launch& launch);

  std::uint64_t key_;
  unsigned long long* sum_ = nullptr;  ///< on the GPU
};

}  // namespace rung
