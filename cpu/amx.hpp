/// Permission to use Intel AMX, the matrix unit of x86 CPUs since Sapphire Rapids.
#pragma once

#if defined(__x86_64__) && defined(__linux__)
#define RUNG_AMX  // the compiler supports its instructions; refuse_amx_bf16() checks whether the CPU does
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <cstdint>
#include <string>

namespace rung {

/// Why this process cannot multiply tiles of bfloat16; empty if it can. Requests the tile registers from the operating
/// system, which grants them to all threads of the process.
inline std::string refuse_amx_bf16() {
  const char* const no_unit = "this CPU has no AMX with bfloat16";
#ifdef RUNG_AMX
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_unit = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 24 & 1) && (d >> 22 & 1);  // tiles, bfloat16
  if (!has_unit) return no_unit;
  constexpr int kRequestPermission = 0x1023, kTileData = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool is_granted = syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
  return is_granted ? "" : "the operating system does not grant this process the tile registers of AMX";
#else
  return no_unit;
#endif
}

/// The operand of LDTILECFG: all eight tiles have 16 rows of 64 bytes.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};

}  // namespace rung
