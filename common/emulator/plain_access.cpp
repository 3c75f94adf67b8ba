/// Accesses of kernel code that bypass mem<>: by a plain shared array, a plain pointer, or a cast to one.
/// They are neither counted nor checked, so that a kernel with them would look free of hazards, and the first one fails
/// its block. What is left to plain types is a thread's own: local variables and arguments.
///
/// The traced build is compiled with -fsanitize=thread, for which GCC and clang call these functions before each access
/// to memory that another thread could see; mem<> itself is compiled without it (RUNG_UNTRACED). Host code in kernels'
/// files calls them, too. The sanitizer's own runtime is not linked.
#include <cstdint>
#include <optional>
#include <utility>

#include "common/emulator/block.hpp"
#include "common/emulator/findings.hpp"
#include "common/emulator/symbols.hpp"

#ifndef __SANITIZE_THREAD__

namespace rung {
namespace {

/// Size of a fiber's stack: a thread's local variables are above the frame of a function that it calls.
constexpr std::uintptr_t kAboveFrame = 128 << 10;

[[gnu::noinline]] void plain_slow_path(std::uintptr_t address, std::uintptr_t bytes, bool is_store, const void* site) {
  if (AddressRange{reinterpret_cast<std::uintptr_t>(&trace), sizeof trace}.holds(address)) return;
  BlockRunner& runner = BlockRunner::of_this_thread();
  if (!runner.is_running() || runner.launch().closure.holds(address)) return;
  const auto found = [&]() -> std::optional<Finding> {
    const OutsideKernel aside(runner);
    return plain_access({address, static_cast<unsigned>(bytes), is_store, reinterpret_cast<std::uintptr_t>(site)});
  };
  if (std::optional<Finding> finding = found()) runner.stop(std::move(*finding));
}

RUNG_INLINE void check(const void* memory, std::uintptr_t bytes, bool is_store, const void* site, const void* frame) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  if (address - reinterpret_cast<std::uintptr_t>(frame) < kAboveFrame || trace.budget == 0) return;
  plain_slow_path(address, bytes, is_store, site);
}

}  // namespace
}  // namespace rung

// The names and parameters of the sanitizer's interface.
extern "C" {

#define RUNG_CHECK(name, bytes, is_store)                                                          \
  void __tsan_##name(void* memory) {                                                               \
    rung::check(memory, bytes, is_store, __builtin_return_address(0), __builtin_frame_address(0)); \
  }
#define RUNG_CHECK_BOTH(bytes)                    \
  RUNG_CHECK(read##bytes, bytes, false)           \
  RUNG_CHECK(write##bytes, bytes, true)           \
  RUNG_CHECK(unaligned_read##bytes, bytes, false) \
  RUNG_CHECK(unaligned_write##bytes, bytes, true)
RUNG_CHECK_BOTH(1)
RUNG_CHECK_BOTH(2)
RUNG_CHECK_BOTH(4)
RUNG_CHECK_BOTH(8)
RUNG_CHECK_BOTH(16)
#undef RUNG_CHECK_BOTH
#undef RUNG_CHECK

void __tsan_read_range(void* memory, unsigned long bytes) {
  rung::check(memory, bytes, false, __builtin_return_address(0), __builtin_frame_address(0));
}
void __tsan_write_range(void* memory, unsigned long bytes) {
  rung::check(memory, bytes, true, __builtin_return_address(0), __builtin_frame_address(0));
}

// What the traced build calls instead of memcpy and its like (gpu/simt/emulator_traced.hpp), where the size is known
// only at run time and the sanitizer sees a call.
void* rung_traced_memcpy(void* to, const void* from, unsigned long bytes) {
  rung::check(from, bytes, false, __builtin_return_address(0), __builtin_frame_address(0));
  rung::check(to, bytes, true, __builtin_return_address(0), __builtin_frame_address(0));
  return __builtin_memcpy(to, from, bytes);
}
void* rung_traced_memmove(void* to, const void* from, unsigned long bytes) {
  rung::check(from, bytes, false, __builtin_return_address(0), __builtin_frame_address(0));
  rung::check(to, bytes, true, __builtin_return_address(0), __builtin_frame_address(0));
  return __builtin_memmove(to, from, bytes);
}
void* rung_traced_memset(void* to, int byte, unsigned long bytes) {
  rung::check(to, bytes, true, __builtin_return_address(0), __builtin_frame_address(0));
  return __builtin_memset(to, byte, bytes);
}

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}

// Atomic operations, which the compiler replaces by calls: of host code, and of mem<> itself.
void __tsan_atomic_thread_fence(int) { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
void __tsan_atomic_signal_fence(int) { __atomic_signal_fence(__ATOMIC_SEQ_CST); }

#define RUNG_FETCH(type, bits, name)                                                \
  type __tsan_atomic##bits##_fetch_##name(volatile type* memory, type value, int) { \
    return __atomic_fetch_##name(memory, value, __ATOMIC_SEQ_CST);                  \
  }
#define RUNG_EXCHANGE(type, bits, name, is_weak)                                                                   \
  int __tsan_atomic##bits##_compare_exchange_##name(volatile type* memory, type* expected, type value, int, int) { \
    return __atomic_compare_exchange_n(memory, expected, value, is_weak, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);      \
  }
#define RUNG_ATOMICS(type, bits)                                                \
  type __tsan_atomic##bits##_load(const volatile type* memory, int) {           \
    return __atomic_load_n(memory, __ATOMIC_SEQ_CST);                           \
  }                                                                             \
  void __tsan_atomic##bits##_store(volatile type* memory, type value, int) {    \
    __atomic_store_n(memory, value, __ATOMIC_SEQ_CST);                          \
  }                                                                             \
  type __tsan_atomic##bits##_exchange(volatile type* memory, type value, int) { \
    return __atomic_exchange_n(memory, value, __ATOMIC_SEQ_CST);                \
  }                                                                             \
  RUNG_FETCH(type, bits, add)                                                   \
  RUNG_FETCH(type, bits, sub)                                                   \
  RUNG_FETCH(type, bits, and)                                                   \
  RUNG_FETCH(type, bits, or)                                                    \
  RUNG_FETCH(type, bits, xor)                                                   \
  RUNG_EXCHANGE(type, bits, strong, false)                                      \
  RUNG_EXCHANGE(type, bits, weak, true)
RUNG_ATOMICS(std::uint8_t, 8)
RUNG_ATOMICS(std::uint16_t, 16)
RUNG_ATOMICS(std::uint32_t, 32)
RUNG_ATOMICS(std::uint64_t, 64)
#undef RUNG_ATOMICS
#undef RUNG_EXCHANGE
#undef RUNG_FETCH

}  // extern "C"

#endif
