/// The formulas of cpu/matmul/level_traffic.hpp against a simulation: the loop nests touch memory element by element,
/// in the order of the code, and caches of three levels count what passes each boundary.
#include "cpu/matmul/level_traffic.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace rung {
namespace {

/// A fully associative cache of lines by their number, the least recently used replaced.
class Lru {
 public:
  Lru(std::size_t capacity, std::size_t lines) : capacity_(capacity), entries_(lines + 1), end_(lines) {
    entries_[end_] = {.before = end_, .after = end_};
  }

  /// Makes the line the most recently used; false if it was not there.
  bool touch(std::size_t line, bool is_store) {
    Entry& entry = entries_[line];
    const bool is_hit = entry.is_here;
    is_hit ? unlink(line) : void(++size_);
    entry.is_here = true;
    entry.is_dirty = (is_hit && entry.is_dirty) || is_store;
    entry.before = end_, entry.after = entries_[end_].after;
    entries_[entry.after].before = line;
    entries_[end_].after = line;
    return is_hit;
  }

  /// Drops the line used longest ago if there is one too many. True, and the line, if it must be written back.
  bool evict(std::size_t& line) {
    if (size_ <= capacity_) return false;
    line = entries_[end_].before;
    unlink(line);
    --size_;
    entries_[line].is_here = false;
    return entries_[line].is_dirty;
  }

 private:
  struct Entry {
    std::size_t before = 0, after = 0;
    bool is_here = false, is_dirty = false;
  };
  void unlink(std::size_t line) {
    entries_[entries_[line].before].after = entries_[line].after;
    entries_[entries_[line].after].before = entries_[line].before;
  }
  std::size_t capacity_, size_ = 0;
  std::vector<Entry> entries_;
  std::size_t end_;
};

/// Memory behind three caches; counts floats asked for and lines that cross each boundary, both ways.
class Memory {
 public:
  Memory(const Caches& caches, std::size_t floats) {
    const std::size_t lines = floats / 16 + 1;
    for (const double bytes : {caches.l1, caches.l2, caches.l3})
      levels_.emplace_back(static_cast<std::size_t>(bytes / kLineBytes), lines);
  }
  void load(std::size_t index) { touch(index, false); }
  void store(std::size_t index) { touch(index, true); }
  void forget_counts() { requested_ = crossed_[0] = crossed_[1] = crossed_[2] = 0; }
  LevelTraffic traffic() const {
    return {kFloatBytes * requested_, kLineBytes * crossed_[0], kLineBytes * crossed_[1], kLineBytes * crossed_[2]};
  }

 private:
  void touch(std::size_t index, bool is_store) {
    ++requested_;
    access(index / 16, is_store, 0);
  }
  void access(std::size_t line, bool is_store, std::size_t level) {
    if (level == levels_.size()) return;
    if (!levels_[level].touch(line, is_store)) {
      ++crossed_[level];
      access(line, false, level + 1);
    }
    if (std::size_t victim = 0; levels_[level].evict(victim)) {
      ++crossed_[level];
      access(victim, true, level + 1);
    }
  }
  std::vector<Lru> levels_;
  double requested_ = 0, crossed_[3] = {};
};

/// Where the operands lie, in floats; each begins a line.
struct Layout {
  std::size_t m, n, k, a, b, c, scratch;
  explicit Layout(const MatmulShape& s)
      : m(s.m), n(s.n), k(s.k), a(0), b(padded(m * k)), c(b + padded(k * n)), scratch(c + padded(m * n)) {}
  static std::size_t padded(std::size_t floats) { return (floats + 15) / 16 * 16; }
};

/// What the second of two calls moves: the first leaves the caches as calls that follow each other find them.
template <typename Nest>
LevelTraffic simulated(const Caches& caches, std::size_t floats, const Nest& nest) {
  Memory memory(caches, floats);
  nest(memory);
  memory.forget_counts();
  nest(memory);
  return memory.traffic();
}

LevelTraffic simulated_naive(const MatmulShape& shape, const Caches& caches) {
  const Layout at(shape);
  return simulated(caches, at.scratch, [&](Memory& memory) {
    for (std::size_t row = 0; row < at.m; ++row)
      for (std::size_t col = 0; col < at.n; ++col) {
        for (std::size_t i = 0; i < at.k; ++i) {
          memory.load(at.a + row * at.k + i);
          memory.load(at.b + i * at.n + col);
        }
        memory.store(at.c + row * at.n + col);
      }
  });
}

LevelTraffic simulated_interchanged(const MatmulShape& shape, const Caches& caches) {
  const Layout at(shape);
  return simulated(caches, at.scratch, [&](Memory& memory) {
    for (std::size_t row = 0; row < at.m; ++row) {
      for (std::size_t col = 0; col < at.n; ++col) memory.store(at.c + row * at.n + col);
      for (std::size_t i = 0; i < at.k; ++i) {
        memory.load(at.a + row * at.k + i);
        for (std::size_t col = 0; col < at.n; ++col) {
          memory.load(at.b + i * at.n + col);
          memory.load(at.c + row * at.n + col);
          memory.store(at.c + row * at.n + col);
        }
      }
    }
  });
}

/// One thread; the sums of a row in memory, unless the registers hold them.
LevelTraffic simulated_blocked(const MatmulShape& shape, std::size_t block, bool sums_in_registers,
                               const Caches& caches) {
  const Layout at(shape);
  const auto end = [block](std::size_t first, std::size_t size) { return std::min(first + block, size); };
  return simulated(caches, at.scratch + block, [&](Memory& memory) {
    for (std::size_t top = 0; top < at.m; top += block)
      for (std::size_t left = 0; left < at.n; left += block)
        for (std::size_t phase = 0; phase < at.k; phase += block)
          for (std::size_t row = top; row < end(top, at.m); ++row) {
            if (phase > 0)
              for (std::size_t col = left; col < end(left, at.n); ++col) memory.load(at.c + row * at.n + col);
            for (std::size_t i = phase; i < end(phase, at.k); ++i) {
              memory.load(at.a + row * at.k + i);
              for (std::size_t col = left; col < end(left, at.n); ++col) {
                memory.load(at.b + i * at.n + col);
                if (sums_in_registers) continue;
                memory.load(at.scratch + col - left);
                memory.store(at.scratch + col - left);
              }
            }
            for (std::size_t col = left; col < end(left, at.n); ++col) memory.store(at.c + row * at.n + col);
          }
  });
}

struct Packing {
  std::size_t mr, nr, kc, mc, nc;
};

/// One thread; all sizes multiples of the blocks within them.
LevelTraffic simulated_packed(const MatmulShape& shape, const Packing& p, const Caches& caches) {
  const Layout at(shape);
  const std::size_t packed_a = at.scratch, packed_b = packed_a + Layout::padded(p.mc * p.kc);
  return simulated(caches, packed_b + p.kc * p.nc, [&](Memory& memory) {
    const auto micro_kernel = [&](std::size_t strip_a, std::size_t strip_b, std::size_t tile, std::size_t depth) {
      for (std::size_t i = 0; i < p.mr; ++i)
        for (std::size_t j = 0; j < p.nr; ++j) memory.load(tile + i * at.n + j);
      for (std::size_t l = 0; l < depth; ++l) {
        for (std::size_t i = 0; i < p.mr; ++i) memory.load(strip_a + l * p.mr + i);
        for (std::size_t j = 0; j < p.nr; ++j) memory.load(strip_b + l * p.nr + j);
      }
      for (std::size_t i = 0; i < p.mr; ++i)
        for (std::size_t j = 0; j < p.nr; ++j) memory.store(tile + i * at.n + j);
    };
    for (std::size_t jc = 0; jc < at.n; jc += p.nc)
      for (std::size_t pc = 0; pc < at.k; pc += p.kc) {
        const std::size_t columns = std::min(p.nc, at.n - jc), depth = std::min(p.kc, at.k - pc);
        for (std::size_t j = 0; j < columns; j += p.nr)
          for (std::size_t l = 0; l < depth; ++l)
            for (std::size_t jj = 0; jj < p.nr; ++jj) {
              memory.load(at.b + (pc + l) * at.n + jc + j + jj);
              memory.store(packed_b + j * depth + l * p.nr + jj);
            }
        for (std::size_t ic = 0; ic < at.m; ic += p.mc) {
          const std::size_t rows = std::min(p.mc, at.m - ic);
          for (std::size_t i = 0; i < rows; i += p.mr)
            for (std::size_t l = 0; l < depth; ++l)
              for (std::size_t ii = 0; ii < p.mr; ++ii) {
                memory.load(at.a + (ic + i + ii) * at.k + pc + l);
                memory.store(packed_a + i * depth + l * p.mr + ii);
              }
          for (std::size_t j = 0; j < columns; j += p.nr)
            for (std::size_t i = 0; i < rows; i += p.mr)
              micro_kernel(packed_a + i * depth, packed_b + j * depth, at.c + (ic + i) * at.n + jc + j, depth);
        }
      }
  });
}

/// Both say nothing passes, or they differ by at most `tolerance` of what the simulation counts.
void expect_near(const LevelTraffic& formula, const LevelTraffic& counted, double tolerance, const std::string& where) {
  EXPECT_EQ(formula.l1, counted.l1) << where;
  EXPECT_NEAR(formula.l2, counted.l2, tolerance * counted.l2) << where;
  EXPECT_NEAR(formula.l3, counted.l3, tolerance * counted.l3) << where;
  EXPECT_NEAR(formula.dram, counted.dram, tolerance * counted.dram) << where;
}

std::string text(const MatmulShape& s, const Caches& caches) {
  return std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) + ", caches of " +
         std::to_string(caches.l1) + ", " + std::to_string(caches.l2) + ", " + std::to_string(caches.l3);
}

constexpr double kKiB = 1024;

// Shapes and caches such that, over all of them, every case of each formula is met, away from where it jumps.
const std::vector<Caches> kMachines = {{2 * kKiB, 20 * kKiB, 172 * kKiB}, {6 * kKiB, 48 * kKiB, 1024 * kKiB}};
const std::vector<MatmulShape> kShapes = {{96, 96, 96}, {144, 128, 160}, {48, 400, 64}, {64, 48, 480}, {1, 16, 16}};

TEST(LevelTraffic, NaiveAsSimulated) {
  for (const Caches& caches : kMachines)
    for (const MatmulShape& shape : kShapes)
      expect_near(naive_traffic(shape, caches), simulated_naive(shape, caches), 0.1, text(shape, caches));
}

TEST(LevelTraffic, InterchangedAsSimulated) {
  for (const Caches& caches : kMachines)
    for (const MatmulShape& shape : kShapes)
      expect_near(interchanged_traffic(shape, caches), simulated_interchanged(shape, caches), 0.1, text(shape, caches));
}

TEST(LevelTraffic, BlockedAsSimulated) {
  for (const Caches& caches : kMachines)
    for (const MatmulShape& shape : kShapes)
      for (const int block : {16, 32})
        for (const double register_bytes : {0.0, 512.0})
          expect_near(blocked_traffic(shape, block, 1, register_bytes, caches),
                      simulated_blocked(shape, static_cast<std::size_t>(block), register_bytes > 0, caches), 0.15,
                      text(shape, caches) + ", block " + std::to_string(block));
}

TEST(LevelTraffic, PackedAsSimulated) {
  const Packing p{.mr = 4, .nr = 16, .kc = 32, .mc = 48, .nc = 96};
  for (const Caches& caches : {Caches{4 * kKiB, 24 * kKiB, 96 * kKiB}, Caches{4 * kKiB, 24 * kKiB, 512 * kKiB}})
    for (const MatmulShape& shape : std::vector<MatmulShape>{{96, 96, 96}, {192, 192, 128}, {48, 384, 64}})
      expect_near(packed_traffic(shape, 4, 16, 32, 48, 96, 1, caches), simulated_packed(shape, p, caches), 0.08,
                  text(shape, caches));
}

TEST(LevelTraffic, ThreadsFetchForThemselvesWhatTheyShare) {
  const Caches caches{2 * kKiB, 128 * kKiB, 8192 * kKiB};
  const MatmulShape shape{256, 256, 256};
  const LevelTraffic one = blocked_traffic(shape, 32, 1, 512, caches), two = blocked_traffic(shape, 32, 2, 512, caches);
  EXPECT_EQ(one.l1, two.l1) << "the same work";
  EXPECT_EQ(two.l3 - one.l3, 4.0 * 256 * 256) << "each L2 fetches the panels of A";
  EXPECT_EQ(packed_traffic(shape, 4, 16, 64, 128, 256, 1, caches).l1,
            packed_traffic(shape, 4, 16, 64, 128, 256, 2, caches).l1);
}

TEST(LevelTraffic, WhatFitsACacheStaysThere) {
  const MatmulShape shape{8, 8, 8};
  for (const LevelTraffic& bytes : {naive_traffic(shape), interchanged_traffic(shape), blocked_traffic(shape, 16),
                                    packed_traffic(shape, 8, 8, 8, 8, 8, 1)}) {
    EXPECT_GT(bytes.l1, 0);
    if (cpu_info().l1d_bytes >= 16384) {
      EXPECT_EQ(bytes.l2 + bytes.l3 + bytes.dram, 0);
    }
  }
}

}  // namespace
}  // namespace rung
