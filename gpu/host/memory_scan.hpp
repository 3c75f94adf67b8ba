/// Looks through the GPU's memory where it is, so that nothing has to cross the bus.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace rung {

/// Of memory that begins at a multiple of 16 bytes. Both wait for `stream`.
class MemoryScan {
 public:
  MemoryScan();
  ~MemoryScan();
  MemoryScan(const MemoryScan&) = delete;
  MemoryScan& operator=(const MemoryScan&) = delete;

  /// A sum, modulo 2^64, of a scrambled word for every 16 bytes, their place and a key that is another one in each
  /// process: other bytes, or the same elsewhere, have the same sum with a chance of 2^-64.
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
