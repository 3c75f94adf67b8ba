/// Buffers on the GPU's host, the sources and targets of copies.
#pragma once

#include <cuda_runtime_api.h>
#include <fmt/core.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>

#include "common/machine/parts.hpp"
#include "common/registry.hpp"
#include "gpu/host/cuda_error.hpp"

namespace rung {

/// Allocates them, pageable or pinned, and finds the buffer of any address inside one.
class HostBuffers {
 public:
  HostBuffers() = default;
  HostBuffers(const HostBuffers&) = delete;
  HostBuffers& operator=(const HostBuffers&) = delete;
  ~HostBuffers() {
    while (!buffers_.empty()) release(buffers_.begin()->first);
  }

  std::byte* allocate(std::size_t bytes, bool is_pinned) {
    void* memory = nullptr;
    if (is_pinned)
      check_cuda(cudaHostAlloc(&memory, bytes, cudaHostAllocDefault), "allocating pinned memory");
    else if (memory = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage); !memory)
      throw Error(fmt::format("no memory on the host for {:.1f} MB", static_cast<double>(bytes) / 1e6));
    buffers_[static_cast<std::byte*>(memory)] = {bytes, is_pinned};
    return static_cast<std::byte*>(memory);
  }

  void release(std::byte* memory) noexcept {
    const auto found = buffers_.find(memory);
    if (found == buffers_.end()) return;
    if (found->second.is_pinned)
      cudaFreeHost(memory);
    else
      std::free(memory);
    buffers_.erase(found);
  }

  bool holds(const void* address) const noexcept {
    const auto* const at = static_cast<const std::byte*>(address);
    auto after = buffers_.upper_bound(const_cast<std::byte*>(at));
    if (after == buffers_.begin()) return false;
    const auto& [begin, buffer] = *--after;
    return std::less<>()(at, begin + buffer.bytes);
  }

  // Uses all threads: buffers are large, and new pages are mapped where they are first touched.
  static void copy(void* to, const void* from, std::size_t bytes) {
    each_part(bytes, [=](std::size_t at, std::size_t size) {
      std::memcpy(static_cast<std::byte*>(to) + at, static_cast<const std::byte*>(from) + at, size);
    });
  }
  static void fill(void* buffer, unsigned char byte, std::size_t bytes) {
    each_part(bytes,
              [=](std::size_t at, std::size_t size) { std::memset(static_cast<std::byte*>(buffer) + at, byte, size); });
  }
  static bool is_filled(const void* buffer, unsigned char byte, std::size_t bytes) {
    std::atomic<bool> same = true;
    each_part(bytes, [&](std::size_t at, std::size_t size) {
      if (!all_are(static_cast<const std::byte*>(buffer) + at, byte, size)) same = false;
    });
    return same;
  }
  static bool are_equal(const void* a, const void* b, std::size_t bytes) {
    std::atomic<bool> same = true;
    each_part(bytes, [&](std::size_t at, std::size_t size) {
      if (std::memcmp(static_cast<const std::byte*>(a) + at, static_cast<const std::byte*>(b) + at, size) != 0)
        same = false;
    });
    return same;
  }

 private:
  static constexpr std::size_t kPage = 4096;
  struct Buffer {
    std::size_t bytes = 0;
    bool is_pinned = false;
  };
  std::map<std::byte*, Buffer> buffers_;
};

}  // namespace rung
