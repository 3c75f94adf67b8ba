/// Memory of the host for arrays of any size.
#pragma once

#include <cstddef>
#include <span>

namespace rung {

/// The least multiple of `unit` that is no less.
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

/// Begins at a multiple of 256 bytes. A large array lies in new pages of its own, huge ones if the system has them: to
/// take ordinary ones, one by one, may cost more than the work on them, and a core's prefetcher stops at the end of a
/// page.
class HostMemory {
 public:
  static constexpr std::size_t kHugePage = std::size_t{2} << 20, kLarge = 2 * kHugePage;

  HostMemory() = default;
  /// Throws Error when there is no memory left.
  explicit HostMemory(std::size_t bytes);
  ~HostMemory();
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::span<std::byte> mapped_;  ///< the pages of a large array
};

}  // namespace rung
