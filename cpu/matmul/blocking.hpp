/// Block sizes of the packed products, from the sizes of the caches, and memory for the packed operands.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>

#include "common/machine/cpu_info.hpp"
#include "cpu/matmul/micro_kernel.hpp"

namespace rung {

inline int divided_up(int value, int by) { return (value + by - 1) / by; }
inline int rounded_up(int value, int unit) { return divided_up(value, unit) * unit; }

/// Sizes of the blocks, in elements, after BLIS.
struct Blocking {
  int kc = 0;  ///< depth of the packed blocks
  int mc = 0;  ///< rows of the packed block of A
  int nc = 0;  ///< columns of the packed panel of B
};

/// Floats that fit half of each cache; of the L3, only the part that this program can use. Unknown caches are assumed
/// to have 32 KiB, 512 KiB and 2 MiB.
struct HalfCaches {
  int l1, l2, l3;
};

inline const HalfCaches& half_caches() {
  static const HalfCaches halves = [] {
    const auto floats = [](std::size_t bytes, std::size_t otherwise) { return int((bytes ? bytes : otherwise) / 8); };
    const CpuInfo& cpu = cpu_info();
    return HalfCaches{floats(cpu.l1d_bytes, 32 << 10), floats(cpu.l2_bytes, 512 << 10),
                      floats(cpu.all_l3_bytes, 2 << 20)};
  }();
  return halves;
}

/// A micro-panel of B (kc x nr) fills half an L1, a block of A (mc x kc) half an L2, a panel of B (kc x nc) half the
/// L3. Source: Low, Igual, Smith, Quintana-Orti: Analytical Modeling Is Enough for High-Performance BLIS (2016).
inline Blocking blocking_for(const MicroKernels& simd, const MatmulShape& shape) {
  const HalfCaches& halves = half_caches();
  Blocking best;
  best.kc = std::clamp(halves.l1 / simd.width() / 8 * 8, 64, 512);
  best.kc = rounded_up(divided_up(shape.k, divided_up(shape.k, best.kc)), 8);  // even parts instead of a small last one
  best.mc = std::max(simd.rows, halves.l2 / best.kc / simd.rows * simd.rows);
  best.nc = std::max(simd.width(), std::min(halves.l3 / best.kc, 8192) / simd.width() * simd.width());
  return best;
}

/// A micro-panel of B that fewer tiles use is read in place.
constexpr int kTilesToPackFor = 3;

/// Memory that a kernel keeps between calls and that only grows, so that calls in a hot loop do not allocate. It is not
/// touched here: each page is placed near the thread that first writes to it.
class Workspace {
 public:
  /// At least `floats` floats, aligned to 64 bytes; the content is lost when it grows. Throws std::bad_alloc.
  float* reserve(std::size_t floats) {
    if (floats > size_) {
      constexpr std::size_t kPage = 4096;
      const std::size_t bytes = (floats * sizeof(float) + kPage - 1) / kPage * kPage;
      memory_.reset(static_cast<float*>(std::aligned_alloc(kPage, bytes)));
      size_ = memory_ ? floats : 0;
      if (!memory_) throw std::bad_alloc();
    }
    return memory_.get();
  }

 private:
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::unique_ptr<float, Free> memory_;
  std::size_t size_ = 0;
};

}  // namespace rung
