#include "common/machine/host_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr std::size_t kAlignment = 256;

[[noreturn]] void throw_short(std::size_t bytes) {
  throw Error("no memory on the host for " + std::to_string(bytes / 1000000) + " MB: use a smaller size");
}

}  // namespace

HostMemory::HostMemory(std::size_t bytes) : bytes_(bytes) {
  if (bytes < kLarge) {
    data_ =
        static_cast<std::byte*>(std::aligned_alloc(kAlignment, round_up(std::max<std::size_t>(bytes, 1), kAlignment)));
    if (!data_) throw_short(bytes);
    return;
  }
  const std::size_t size = round_up(bytes, kHugePage) + kHugePage;  // begins at the next multiple of a huge page
  void* const mapped = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) throw_short(bytes);
  madvise(mapped, size, MADV_HUGEPAGE);
  mapped_ = {static_cast<std::byte*>(mapped), size};
  const auto begin = reinterpret_cast<std::uintptr_t>(mapped);
  data_ = mapped_.data() + (round_up(begin, kHugePage) - begin);
}

HostMemory::~HostMemory() {
  if (mapped_.data())
    munmap(mapped_.data(), mapped_.size());
  else
    std::free(data_);
}

HostMemory::HostMemory(HostMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)),
      mapped_(std::exchange(other.mapped_, {})) {}

HostMemory& HostMemory::operator=(HostMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

}  // namespace rung
