/// The system's own clocks and entropy, requested by the processor's instruction: no function that a library (by
/// LD_PRELOAD) or a kernel's file defines under the C library's name is called.
#pragma once

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace rung {

inline long system_call(long number, long first, long second, long third) {
#if defined(__x86_64__)
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(first), "S"(second), "d"(third)
               : "rcx", "r11", "memory");
  return result;
#elif defined(__aarch64__)
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = first;
  register long x1 asm("x1") = second;
  register long x2 asm("x2") = third;
  asm volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2) : "memory");
  return x0;
#else
  return ::syscall(number, first, second, third);
#endif
}

/// Seconds of a system clock, such as CLOCK_MONOTONIC.
inline double system_seconds(clockid_t clock) {
  timespec now{};
  system_call(SYS_clock_gettime, clock, reinterpret_cast<long>(&now), 0);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

/// 64 random bits of the system: no program can foresee them. Without them (an old kernel) bits of the clock.
inline std::uint64_t fresh_bits() {
  std::uint64_t bits = 0;
  if (system_call(SYS_getrandom, reinterpret_cast<long>(&bits), sizeof bits, 0) != sizeof bits) {
    timespec now{};
    system_call(SYS_clock_gettime, CLOCK_MONOTONIC, reinterpret_cast<long>(&now), 0);
    bits = static_cast<std::uint64_t>(now.tv_nsec) * 0x9E3779B97F4A7C15ull;
  }
  return bits;
}

}  // namespace rung
