/// What the kernel's code writes while it runs: the log of the running thread's accesses and its operation counts.
/// Included by every emulated kernel, so it is small; reading the log is emulator_log.cpp's work.
#pragma once

#include <cstddef>
#include <cstdint>

#include "gpu/simt/emulator.hpp"

namespace rung {
inline namespace emulated {

#define RUNG_INLINE [[gnu::always_inline]] inline

/// The low byte of an access's key. The rest is the return address of the access, so that the order of keys is the
/// order of the code and lanes that stand at the same access have the same key.
struct AccessKind {
  static constexpr std::uint64_t kSizeMask = 0x07;  ///< log2 of the bytes
  static constexpr std::uint64_t kStore = 0x08;
  static constexpr std::uint64_t kShared = 0x10;
  static constexpr int kBits = 8;
};

/// Memory addresses in the log are words modulo 8 GiB: enough to tell the addresses of one request apart.
constexpr int kWordShift = 2;
constexpr std::uintptr_t kWordMask = 0x7fffffff;

struct AddressRange {
  std::uintptr_t begin = 0, bytes = 0;
  RUNG_INLINE bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

/// The running thread's log and counters, one for each OS thread.
struct Trace {
  std::uint64_t* key = nullptr;  ///< where the next access goes …
  std::uint64_t* end = nullptr;  ///< … if there is room
  std::int32_t* word = nullptr;
  AddressRange static_shared, dynamic_shared;
  bool counting = false;
  Operations fp32{}, fp64{};
};
constinit inline thread_local Trace trace;

/// Lets the other lanes of the warp catch up until this thread's log has room. Defined in emulator_block.cpp.
void make_room();

RUNG_INLINE void record(const void* memory, std::uint64_t kind, const void* site) {
  Trace& log = trace;
  if (log.key == log.end) [[unlikely]] {
    if (!log.counting) return;
    make_room();
  }
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const bool is_shared = log.static_shared.holds(address) | log.dynamic_shared.holds(address);
  *log.key++ = reinterpret_cast<std::uintptr_t>(site) << AccessKind::kBits | kind |
               (is_shared ? AccessKind::kShared : std::uint64_t{0});
  *log.word++ = static_cast<std::int32_t>(address >> kWordShift & kWordMask);
}

/// The counters of operations in precision T.
template <typename T>
RUNG_INLINE Operations& operations() {
  if constexpr (sizeof(T) == sizeof(double))
    return trace.fp64;
  else
    return trace.fp32;
}

}  // namespace emulated
}  // namespace rung
