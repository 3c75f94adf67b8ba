/// What traced kernel code writes while it runs: the log of the running thread's accesses and loops, and its operation
/// counts. Included by every traced kernel, so it is small; log.cpp evaluates the log.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/emulator/emulator.hpp"
#include "common/emulator/hazards.hpp"

namespace rung {
inline namespace emulated {

#define RUNG_INLINE [[gnu::always_inline]] inline
/// For functions that kernel code calls but that are not part of it: neither their own basic blocks nor their accesses
/// are traced, and each call stays at its place.
#ifdef __clang__
#define RUNG_UNTRACED [[gnu::noinline, clang::nomerge, clang::no_sanitize("coverage", "thread")]]
#else
#define RUNG_UNTRACED [[gnu::noinline, gnu::no_sanitize_coverage, gnu::no_sanitize_thread]]
#endif

/// The low bits of a log entry's key. The rest is the return address of the access, so that keys are in program order
/// and lanes at the same access have the same key.
struct AccessKind {
  static constexpr std::uint64_t kSizeMask = 0x07;  ///< log2 of the bytes
  static constexpr std::uint64_t kStore = 0x08;
  static constexpr std::uint64_t kShared = 0x10;
  static constexpr std::uint64_t kConstant = 0x20;
  static constexpr std::uint64_t kAtomic = 0x40;
  static constexpr std::uint64_t kAsync = 0x80;    ///< the load or the store of an asynchronous copy
  static constexpr std::uint64_t kPastL1 = 0x100;  ///< a load that no L1 serves or keeps
  // How shared memory executes an atomic, in two bits: a comparison and exchange; a count by one, for all lanes at
  // once; what it has no instruction for, by a load, an operation and an attempt to replace what was loaded.
  static constexpr std::uint64_t kHow = 0x600;
  static constexpr std::uint64_t kCompare = 0x200;
  static constexpr std::uint64_t kInOnePass = 0x400;
  static constexpr std::uint64_t kByAttempts = 0x600;
  static constexpr std::uint64_t kAddition = 0x800;  ///< that operation is a floating-point addition
  /// Not an access but a backward branch. Greater than any access at the same place.
  static constexpr std::uint64_t kLoop = 0x1000;
  static constexpr int kBits = 13;
};

/// Addresses in the log are word addresses modulo 8 GiB: enough to distinguish the addresses of one request.
constexpr int kWordShift = 2;
constexpr std::uintptr_t kWordMask = 0x7fffffff;

struct AddressRange {
  std::uintptr_t begin = 0, bytes = 0;
  RUNG_INLINE bool holds(std::uintptr_t address) const { return address - begin < bytes; }
};

/// The running thread's log and counters, one for each OS thread.
struct Trace {
  std::uint64_t* key = nullptr;   ///< where the next entry is written …
  std::uint64_t* end = nullptr;   ///< … unless it is here: then the slow path is taken
  std::int32_t* word = nullptr;   ///< where the next entry's address is written
  std::uint64_t* full = nullptr;  ///< the end of the log's capacity
  std::uintptr_t position = 0;    ///< the last basic block or access that the running thread reached
  std::uint64_t budget = 0;       ///< basic blocks that the block may still run
  AddressRange static_shared, dynamic_shared;
  static constexpr int kBuffers = 4;
  AddressRange buffers[kBuffers];  ///< of global memory, those used most recently
  RUNG_INLINE bool in_a_buffer(std::uintptr_t address) const {
    return buffers[0].holds(address) | buffers[1].holds(address) | buffers[2].holds(address) |
           buffers[3].holds(address);
  }
  bool counting = false, lines = false;
  BlockHazards* hazards = nullptr;
  const void* bad_subscript =
      nullptr;  ///< a failed bounds check of the compiler, reported with the access that follows
  std::int64_t bad_index = 0;
  Operations fp32{}, fp64{}, tensor{};
};
constinit inline thread_local Trace trace;

/// The memory ordering of an access; for the hazard checks.
enum class Ordering : std::uint8_t { plain, atomic, is_volatile, async };

/// The slow path of record(): constant memory, bad addresses, a full log, hazard checks. Defined in access.cpp. Throws
/// Error for an access that no GPU allows.
void record_slow_path(std::uintptr_t address, std::uint64_t kind, const void* site, Ordering ordering);

RUNG_INLINE void record(const void* memory, std::uint64_t kind, const void* site, Ordering ordering = Ordering::plain) {
  Trace& log = trace;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const std::uintptr_t last = address | ((std::uintptr_t{1} << (kind & AccessKind::kSizeMask)) - 1);
  const std::uintptr_t size = std::uintptr_t{1} << (kind & AccessKind::kSizeMask);
  if (log.static_shared.holds(last) || log.dynamic_shared.holds(last))
    kind |= AccessKind::kShared;
  else if (!log.in_a_buffer(last)) [[unlikely]]
    return record_slow_path(address, kind, site, ordering);
  if ((log.key == log.end) | (address % size != 0)) [[unlikely]]
    return record_slow_path(address, kind & ~AccessKind::kShared, site, ordering);
  log.position = reinterpret_cast<std::uintptr_t>(site);
  *log.key++ = log.position << AccessKind::kBits | kind;
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

using OperationKind = std::uint64_t Operations::*;

/// Adds `number` operations to the counts of their source line. Defined in access.cpp.
RUNG_UNTRACED void count_at_line(Operations OperationSite::*unit, OperationKind kind, std::uint64_t number);

/// The same at this place in the code.
void count_at_place(std::uintptr_t place, Operations OperationSite::*unit, OperationKind kind, std::uint64_t number);

// Inlined into kernels, but no accesses of theirs: in assembly, where the compiler does not report them as such
// (access.cpp). Elsewhere than on x86 they are reported, which is slower.

/// Adds to a counter at once: another thread may run at the next basic block.
RUNG_INLINE void add_to(std::uint64_t& count, std::uint64_t number) {
#ifdef __x86_64__
  asm volatile("addq %1, %0" : "+m"(count) : "er"(number) : "cc");
#else
  count += number;
  asm volatile("" : "+m"(count));
#endif
}

RUNG_INLINE bool counts_lines() {
#ifdef __x86_64__
  bool lines;
  asm("cmpb $0, %1" : "=@ccne"(lines) : "m"(trace.lines));
  return lines;
#else
  return trace.lines;
#endif
}

/// Counts one operation of the running thread.
template <typename T>
RUNG_INLINE void tally(OperationKind kind) {
  add_to(operations<T>().*kind, 1);
  if (counts_lines()) [[unlikely]]
    count_at_line(sizeof(T) == sizeof(double) ? &OperationSite::fp64 : &OperationSite::fp32, kind, 1);
}

/// Counts the running thread's share of the multiply-adds of a matrix instruction.
RUNG_INLINE void tally_tensor(std::uint64_t fmas) {
  add_to(trace.tensor.fmas, fmas);
  if (counts_lines()) [[unlikely]]
    count_at_line(&OperationSite::tensor, &Operations::fmas, fmas);
}

}  // namespace emulated
}  // namespace rung
