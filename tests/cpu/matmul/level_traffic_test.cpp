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

  /// Drops the least recently used line if there are too many. True, and the line, if it must be written back.
  bool evict(std::size_t& line) {
    if (size_ <= capacity_) return false;
    line = entries_[end_].before;
    unlink(line);
    --size_;
    entries_[line].is_here = false;
    return entries_[line].is_dirty;
  }

  bool has_dirty(std::size_t line) const { return entries_[line].is_here && entries_[line].is_dirty; }

  /// Drops the line if it is there. True if it must be written back.
  bool drop(std::size_t line) {
    if (!entries_[line].is_here) return false;
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

/// Memory behind an L1 and an L2 per core and a shared L3. Counts the requested floats and the lines that cross each
/// boundary in either direction. Before a core stores a line, or loads one that another core has stored, the other
/// cores drop it, and write it back if it is modified.
class Memory {
 public:
  Memory(const Caches& caches, std::size_t floats, std::size_t cores = 1) : cores_(cores) {
    const std::size_t lines = floats / 16 + 1;
    const auto add = [&](double bytes, std::size_t count) {
      levels_.emplace_back(count, Lru(static_cast<std::size_t>(bytes / kLineBytes), lines));
    };
    add(caches.l1, cores), add(caches.l2, cores), add(caches.l3, 1);
  }
  void load(std::size_t index, std::size_t core = 0) { touch(index, false, core); }
  void store(std::size_t index, std::size_t core = 0) { touch(index, true, core); }
  void forget_counts() { requested_ = 0, crossed_.assign(3, 0); }
  LevelTraffic traffic() const {
    return {kFloatBytes * requested_, kLineBytes * crossed_[0], kLineBytes * crossed_[1], kLineBytes * crossed_[2]};
  }

 private:
  void touch(std::size_t index, bool is_store, std::size_t core) {
    ++requested_;
    for (std::size_t other = 0; other < cores_; ++other)
      if (other != core) take_from(other, index / 16, is_store);
    access(index / 16, is_store, 0, core);
  }
  void take_from(std::size_t core, std::size_t line, bool is_store) {
    Lru &l1 = levels_[0][core], &l2 = levels_[1][core];
    const bool is_dirty = l1.has_dirty(line) || l2.has_dirty(line);
    if (!is_store && !is_dirty) return;
    if (l1.drop(line)) ++crossed_[0];
    l2.drop(line);
    if (is_dirty) ++crossed_[1], access(line, true, 2, core);
  }
  void access(std::size_t line, bool is_store, std::size_t level, std::size_t core) {
    if (level == levels_.size()) return;
    Lru& cache = levels_[level][core % levels_[level].size()];
    if (!cache.touch(line, is_store)) {
      ++crossed_[level];
      access(line, false, level + 1, core);
    }
    if (std::size_t victim = 0; cache.evict(victim)) {
      ++crossed_[level];
      access(victim, true, level + 1, core);
    }
  }
  std::size_t cores_;
  std::vector<std::vector<Lru>> levels_;
  double requested_ = 0;
  std::vector<double> crossed_ = std::vector<double>(3);
};

/// The offsets of the operands, in floats; each begins a line.
struct Layout {
  std::size_t m, n, k, a, b, c, scratch;
  explicit Layout(const MatmulShape& s)
      : m(s.m), n(s.n), k(s.k), a(0), b(padded(m * k)), c(b + padded(k * n)), scratch(c + padded(m * n)) {}
  static std::size_t padded(std::size_t floats) { return (floats + 15) / 16 * 16; }
};

/// The traffic of the second of two calls: the first fills the caches, as in successive calls.
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

/// One thread; the sums of a strip in memory, unless the registers hold them.
LevelTraffic simulated_strips(const MatmulShape& shape, std::size_t strip, bool sums_in_registers,
                              const Caches& caches) {
  const Layout at(shape);
  return simulated(caches, at.scratch + strip, [&](Memory& memory) {
    for (std::size_t row = 0; row < at.m; ++row)
      for (std::size_t left = 0; left < at.n; left += strip) {
        const std::size_t right = std::min(left + strip, at.n);
        for (std::size_t i = 0; i < at.k; ++i) {
          memory.load(at.a + row * at.k + i);
          for (std::size_t col = left; col < right; ++col) {
            memory.load(at.b + i * at.n + col);
            if (sums_in_registers) continue;
            memory.load(at.scratch + col - left);
            memory.store(at.scratch + col - left);
          }
        }
        for (std::size_t col = left; col < right; ++col) memory.store(at.c + row * at.n + col);
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

/// The accesses of one thread, in order; barrier() begins a part that threads begin when all have arrived.
class Trace {
 public:
  void load(std::size_t index) { parts_.back().push_back(2 * index); }
  void store(std::size_t index) { parts_.back().push_back(2 * index + 1); }
  void barrier() { parts_.emplace_back(); }
  const std::vector<std::vector<std::size_t>>& parts() const { return parts_; }

 private:
  std::vector<std::vector<std::size_t>> parts_{1};
};

/// A core for each thread; the threads make one access each, in turn.
LevelTraffic simulated_threads(const Caches& caches, std::size_t floats, const std::vector<Trace>& threads) {
  Memory memory(caches, floats, threads.size());
  for (int call = 0; call < 2; ++call) {
    memory.forget_counts();
    for (std::size_t part = 0; part < threads[0].parts().size(); ++part) {
      std::size_t longest = 0;
      for (const Trace& thread : threads) longest = std::max(longest, thread.parts()[part].size());
      for (std::size_t i = 0; i < longest; ++i)
        for (std::size_t core = 0; core < threads.size(); ++core) {
          const auto& accesses = threads[core].parts()[part];
          if (i >= accesses.size()) continue;
          accesses[i] % 2 ? memory.store(accesses[i] / 2, core) : memory.load(accesses[i] / 2, core);
        }
    }
  }
  return memory.traffic();
}

/// A matrix in memory: its first element, and the elements from one row to the next.
struct Rows {
  std::size_t first, ld;
  std::size_t at(std::size_t row, std::size_t column) const { return first + row * ld + column; }
};

/// A tile of `rows` x `columns`, k deep; stores its rows of B to `micro_panel`, too, if that is not null.
void tile_nest(Trace& memory, std::size_t rows, std::size_t columns, std::size_t k, Rows a, Rows b, Rows c, bool adds,
               const Rows* micro_panel = nullptr) {
  for (std::size_t l = 0; l < k; ++l) {
    for (std::size_t j = 0; j < columns; ++j) memory.load(b.at(l, j));
    for (std::size_t j = 0; micro_panel && j < columns; ++j) memory.store(micro_panel->at(l, j));
    for (std::size_t i = 0; i < rows; ++i) memory.load(a.at(i, l));
  }
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      if (adds) memory.load(c.at(i, j));
      memory.store(c.at(i, j));
    }
}

void copy_nest(Trace& memory, std::size_t rows, std::size_t columns, Rows from, Rows to) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      memory.load(from.at(i, j));
      memory.store(to.at(i, j));
    }
}

/// A thread's part of C by tiles, as register_tile, masked (small operands) and fused traverse it.
void tiles_nest(Trace& memory, const Layout& at, const TileLoops& loops, Part rows, Part columns, std::size_t places) {
  const int kc = loops.kc, k = static_cast<int>(at.k);
  const Rows a{at.a, at.k}, b{at.b, at.n}, c{at.c, at.n}, copy{places, std::size_t(kc)};
  const std::size_t packed_b = places + Layout::padded(std::size_t(loops.packed_rows) * kc);
  for (int left = columns.begin; left < columns.end; left += loops.nc)
    for (int first = 0; first < k; first += kc)
      for (int top = rows.begin; top < rows.end; top += loops.mc) {
        const int depth = std::min(kc, k - first), high = std::min(loops.mc, rows.end - top);
        if (loops.packed_rows > 0) copy_nest(memory, high, depth, {a.at(top, first), a.ld}, copy);
        const int right = std::min(left + loops.nc, columns.end);
        for (int col = left; col < right; col += loops.nr) {
          const int wide = std::min(loops.nr, right - col), tiles = (high + loops.mr - 1) / loops.mr;
          const Rows source{b.at(first, col), b.ld};
          const Rows micro_panel{packed_b + (loops.packed_b == PackedB::panel ? std::size_t(col - left) * kc : 0),
                                 std::size_t(loops.nr)};
          const bool is_new =
              loops.packed_b == PackedB::micro_panel || (loops.packed_b == PackedB::panel && top == rows.begin);
          if (is_new && !loops.packing_is_fused) copy_nest(memory, depth, wide, source, micro_panel);
          for (int i = 0; i < tiles; ++i) {
            const auto first_row = [&](int tile) {  // fused has even tiles, the higher ones first
              const int even = high / tiles * tile + std::min(tile, high % tiles);
              return loops.packing_is_fused ? even : std::min(tile * loops.mr, high);
            };
            const int from = first_row(i), to = first_row(i + 1);
            const bool packs = is_new && loops.packing_is_fused && i == 0;
            tile_nest(memory, to - from, wide, depth,
                      loops.packed_rows > 0 ? Rows{copy.at(from, 0), copy.ld} : Rows{a.at(top + from, first), a.ld},
                      packs || loops.packed_b == PackedB::none ? source : micro_panel, {c.at(top + from, col), c.ld},
                      first > 0, packs ? &micro_panel : nullptr);
          }
        }
      }
}

/// The pieces in the order in which equally fast threads take them.
template <typename LoopsOf>
LevelTraffic simulated_pieces(const MatmulShape& shape, const std::vector<Piece>& pieces, const Grid& team,
                              const LoopsOf& loops_of, const Caches& caches) {
  const Layout at(shape);
  std::size_t most = 0, count = static_cast<std::size_t>(team.down * team.across);
  for (const auto& [rows, columns] : pieces) {
    const TileLoops loops = loops_of(rows.size(), columns.size());
    most = std::max(most, Layout::padded(std::size_t(loops.packed_rows + loops.nc) * std::size_t(loops.kc)));
  }
  std::vector<Trace> threads(count);
  std::vector<int> done(count);
  for (const auto& [rows, columns] : pieces) {
    const auto thread = std::size_t(std::min_element(done.begin(), done.end()) - done.begin());
    tiles_nest(threads[thread], at, loops_of(rows.size(), columns.size()), rows, columns, at.scratch + thread * most);
    done[thread] += rows.size() * columns.size();
  }
  return simulated_threads(caches, at.scratch + count * most, threads);
}

template <typename LoopsOf>
LevelTraffic simulated_tiles(const MatmulShape& shape, const Grid& grid, int row_unit, int column_unit,
                             const LoopsOf& loops_of, const Caches& caches) {
  const EvenPieces pieces(grid, shape.m, shape.n, row_unit, column_unit);
  return simulated_pieces(shape, all_pieces(pieces), grid, loops_of, caches);
}

/// masked, where operands exceed the L2 caches: all copy all rows of A and pack a panel of B, then meet.
LevelTraffic simulated_shared(const MatmulShape& shape, const Grid& grid, const TileLoops& l, const Caches& caches) {
  const Layout at(shape);
  const int count = grid.down * grid.across;
  const std::size_t packed_b = at.scratch + Layout::padded(at.m * std::size_t(l.kc));
  std::vector<Trace> threads(static_cast<std::size_t>(count));
  const Rows a{at.a, at.k}, b{at.b, at.n}, c{at.c, at.n}, copy{at.scratch, std::size_t(l.kc)};
  const Grid in_rows{count, 1}, in_columns{1, count};
  for (int left = 0; left < shape.n; left += l.nc)
    for (int first = 0; first < shape.k; first += l.kc)
      for (int thread = 0; thread < count; ++thread) {
        Trace& memory = threads[static_cast<std::size_t>(thread)];
        const int panel = std::min(l.nc, shape.n - left), depth = std::min(l.kc, shape.k - first);
        const auto micro_panel_at = [&](int col) {
          return Rows{packed_b + std::size_t(col) * std::size_t(depth), std::size_t(l.nr)};
        };
        const Part to_copy = in_rows.rows(thread, shape.m, l.mr), to_pack = in_columns.columns(thread, panel, l.nr);
        copy_nest(memory, to_copy.size(), depth, {a.at(to_copy.begin, first), a.ld},
                  {copy.at(to_copy.begin, 0), copy.ld});
        for (int col = to_pack.begin; col < to_pack.end; col += l.nr)
          copy_nest(memory, depth, std::min(l.nr, panel - col), {b.at(first, left + col), b.ld}, micro_panel_at(col));
        memory.barrier();
        const Part rows = grid.rows(thread, shape.m, l.mr), columns = grid.columns(thread, panel, l.nr);
        for (int top = rows.begin; top < rows.end; top += l.mc)
          for (int col = columns.begin; col < columns.end; col += l.nr)
            for (int row = top; row < std::min(top + l.mc, rows.end); row += l.mr)
              tile_nest(memory, std::min(l.mr, std::min(top + l.mc, rows.end) - row), std::min(l.nr, panel - col),
                        depth, {copy.at(row, 0), copy.ld}, micro_panel_at(col), {c.at(row, left + col), c.ld},
                        first > 0);
        memory.barrier();
      }
  return simulated_threads(caches, packed_b + std::size_t(l.kc) * std::size_t(l.nc), threads);
}

/// register_tile: whole tiles, then the edges in strips; each thread has an equal, contiguous share of both.
LevelTraffic simulated_register_tile(const MatmulShape& shape, int mr, int nr, int kc, int strip, int count,
                                     const Caches& caches) {
  const Layout at(shape);
  const Rows a{at.a, at.k}, b{at.b, at.n}, c{at.c, at.n};
  const int bottom = shape.m / mr * mr, across = shape.n / nr, right = across * nr;
  const int below = shape.m - bottom, strips = (shape.n + strip - 1) / strip;
  std::vector<Trace> threads(static_cast<std::size_t>(count));
  for (int thread = 0; thread < count; ++thread) {
    Trace& memory = threads[static_cast<std::size_t>(thread)];
    const auto share = [&](int of) { return Grid{count, 1}.rows(thread, of, 1); };
    const std::size_t sums = at.scratch + Layout::padded(std::size_t(strip)) * std::size_t(thread);
    const auto plain_part = [&](int row, int left, int end) {
      for (std::size_t l = 0; l < at.k; ++l) {
        memory.load(a.at(row, l));
        for (int col = left; col < end; ++col) {
          memory.load(b.at(l, col));
          memory.load(sums + std::size_t(col - left));
          memory.store(sums + std::size_t(col - left));
        }
      }
      for (int col = left; col < end; ++col) {
        memory.load(sums + std::size_t(col - left));
        memory.store(c.at(row, col));
      }
    };
    const Part tiles = share(bottom / mr * across), rows = share(bottom), parts = share(below * strips);
    for (int first = 0; first < shape.k; first += kc)
      for (int tile = tiles.begin; tile < tiles.end; ++tile) {
        const int row = tile / across * mr, col = tile % across * nr;
        tile_nest(memory, mr, nr, std::min(kc, shape.k - first), {a.at(row, first), a.ld}, {b.at(first, col), b.ld},
                  {c.at(row, col), c.ld}, first > 0);
      }
    for (int row = rows.begin; row < rows.end && right < shape.n; ++row) plain_part(row, right, shape.n);
    for (int part = parts.begin; part < parts.end; ++part) {
      const int left = part / below * strip;
      plain_part(bottom + part % below, left, std::min(shape.n, left + strip));
    }
  }
  return simulated_threads(caches, at.scratch + Layout::padded(std::size_t(strip)) * std::size_t(count), threads);
}

/// Few rows of A, 8 rows of B at a time; their elements of A in the scratch.
LevelTraffic simulated_streamed(const MatmulShape& shape, int lanes, int count, const Caches& caches) {
  const Layout at(shape);
  std::vector<Trace> threads(static_cast<std::size_t>(count));
  for (int thread = 0; thread < count; ++thread) {
    Trace& memory = threads[static_cast<std::size_t>(thread)];
    const Part columns = Grid{1, count}.columns(thread, shape.n, lanes);
    const std::size_t scratch = at.scratch + std::size_t(thread) * 32;
    for (std::size_t first = 0; first < at.k; first += 8) {
      const std::size_t steps = std::min<std::size_t>(8, at.k - first);
      copy_nest(memory, at.m, steps, {at.a + first, at.k}, {scratch, 8});
      for (int col = columns.begin; col < columns.end; col += lanes)
        tile_nest(memory, at.m, std::size_t(std::min(lanes, columns.end - col)), steps, {scratch, 8},
                  {at.b + first * at.n + std::size_t(col), at.n}, {at.c + std::size_t(col), at.n}, first > 0);
    }
  }
  return simulated_threads(caches, at.scratch + std::size_t(count) * 32, threads);
}

/// Both are zero, or they differ by at most `tolerance` of the simulation's count.
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

std::string text(const Grid& grid) {
  return ", threads " + std::to_string(grid.down) + " x " + std::to_string(grid.across);
}

constexpr double kKiB = 1024;

// Shapes and caches such that, over all of them, every case of each formula is met, away from where it jumps.
const std::vector<Caches> kMachines = {{2 * kKiB, 20 * kKiB, 172 * kKiB}, {6 * kKiB, 48 * kKiB, 1024 * kKiB}};
const std::vector<MatmulShape> kShapes = {{96, 96, 96}, {144, 128, 160}, {48, 400, 64}, {64, 48, 480}, {1, 16, 16}};

const std::vector<Caches> kTileMachines = {{4 * kKiB, 16 * kKiB, 160 * kKiB}, {10 * kKiB, 56 * kKiB, 640 * kKiB}};
const std::vector<MatmulShape> kTileShapes = {
    {96, 96, 96}, {192, 192, 128}, {48, 384, 64}, {192, 96, 192}, {1, 16, 16}};

/// The size of even parts of `size`, each at most `most`.
int even_part(int size, int most) {
  const int parts = std::max(1, (size + most - 1) / most);
  return std::max(1, (size + parts - 1) / parts);
}

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

TEST(LevelTraffic, StripsAsSimulated) {
  for (const Caches& caches : kMachines)
    for (const MatmulShape& shape : kShapes)
      for (const int strip : {16, 32})
        for (const double register_bytes : {0.0, 512.0})
          expect_near(strips_traffic(shape, strip, register_bytes, caches),
                      simulated_strips(shape, static_cast<std::size_t>(strip), register_bytes > 0, caches), 0.15,
                      text(shape, caches) + ", strip " + std::to_string(strip));
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

TEST(LevelTraffic, RegisterTileAsSimulated) {
  for (const Caches& caches : {Caches{4 * kKiB, 16 * kKiB, 128 * kKiB}, Caches{10 * kKiB, 56 * kKiB, 1024 * kKiB}})
    for (const MatmulShape& shape : std::vector<MatmulShape>{
             {96, 320, 96}, {192, 192, 128}, {34, 640, 64}, {70, 48, 800}, {98, 272, 96}, {3, 16, 16}})
      for (const int nr : {16, 32})
        for (const int threads : {1, 2})
          expect_near(register_tile_traffic(shape, 4, nr, 32, 64, threads, caches),
                      simulated_register_tile(shape, 4, nr, 32, 64, threads, caches), 0.15,
                      text(shape, caches) + text(Grid{1, threads}) + ", tiles of 4 x " + std::to_string(nr));
}

TEST(LevelTraffic, SmallMaskedAsSimulated) {
  for (const Caches& caches : kTileMachines)
    for (const MatmulShape& shape : kTileShapes)
      for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{2, 2}})
        for (const PackedB packed_b : {PackedB::none, PackedB::micro_panel}) {
          const auto loops = [&](int rows, int columns) {
            return TileLoops{.mr = 4, .nr = 16, .kc = 32, .mc = rows, .nc = columns, .packed_b = packed_b};
          };
          expect_near(tiles_traffic(shape, grid, 1, 16, loops, caches),
                      simulated_tiles(shape, grid, 1, 16, loops, caches), 0.15,
                      text(shape, caches) + text(grid) + (packed_b == PackedB::micro_panel ? " one" : " none"));
        }
}

TEST(LevelTraffic, FusedAsSimulated) {
  for (const Caches& caches : kTileMachines)
    for (const MatmulShape& shape : kTileShapes)
      for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{2, 2}})
        for (const bool copies : {false, true})
          for (const PackedB packed_b : {PackedB::micro_panel, PackedB::panel}) {
            if (copies && packed_b == PackedB::micro_panel) continue;
            const auto loops = [&](int rows, int columns) {
              const int high = packed_b == PackedB::micro_panel ? rows : even_part(rows, 32);
              const bool one = high >= rows;
              return TileLoops{.mr = 4,
                               .nr = 16,
                               .kc = 32,
                               .mc = high,
                               .nc = one ? columns : even_part(columns, 96),
                               .packed_rows = copies && !one ? high : 0,
                               .packed_b = one ? PackedB::micro_panel : PackedB::panel,
                               .packing_is_fused = true};
            };
            expect_near(tiles_traffic(shape, grid, 1, 16, loops, caches),
                        simulated_tiles(shape, grid, 1, 16, loops, caches), 0.15,
                        text(shape, caches) + text(grid) + (packed_b == PackedB::micro_panel ? " one" : " panel") +
                            (copies ? " copies" : ""));
          }
}

TEST(LevelTraffic, GuidedPiecesAsSimulated) {
  for (const Caches& caches : kTileMachines)
    for (const MatmulShape& shape : std::vector<MatmulShape>{{256, 128, 128}, {512, 96, 96}, {400, 160, 64}})
      for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{2, 2}}) {
        const GuidedPieces pieces(grid, shape.m, shape.n, 4, 16);
        ASSERT_GT(std::ssize(all_pieces(pieces)), grid.down * grid.across);  // of several sizes, some near a jump
        const auto loops = [&](int rows, int columns) {
          return TileLoops{.mr = 4,
                           .nr = 16,
                           .kc = 32,
                           .mc = rows,
                           .nc = columns,
                           .packed_b = PackedB::micro_panel,
                           .packing_is_fused = true};
        };
        expect_near(tiles_traffic(shape, pieces, loops, caches),
                    simulated_pieces(shape, all_pieces(pieces), grid, loops, caches), 0.25,
                    text(shape, caches) + text(grid));
      }
}

TEST(LevelTraffic, PackedMaskedAsSimulated) {
  for (const Caches& caches : kTileMachines)
    for (const MatmulShape& shape :
         std::vector<MatmulShape>{{96, 96, 96}, {192, 192, 128}, {96, 288, 64}, {192, 96, 192}})
      for (const Grid grid : {Grid{1, 1}, Grid{2, 1}, Grid{2, 2}}) {
        if (kFloatBytes * (shape.m + shape.n) * shape.k <= caches.l2 * grid.down * grid.across)
          continue;  // as masked does
        const TileLoops whole{.mr = 4,
                              .nr = 16,
                              .kc = 32,
                              .mc = 48,
                              .nc = 96,
                              .packed_rows = shape.m,
                              .packed_b = PackedB::panel,
                              .is_shared = true};
        const auto loops = [&](int rows, int) {
          TileLoops part = whole;
          part.nc = whole.nc / grid.across, part.packed_rows = rows;
          return part;
        };
        expect_near(tiles_traffic(shape, grid, 4, 16, loops, caches), simulated_shared(shape, grid, whole, caches),
                    0.15, text(shape, caches) + text(grid));
      }
}

TEST(LevelTraffic, StreamedAsSimulated) {
  for (const Caches& caches : kTileMachines)
    for (const MatmulShape& shape :
         std::vector<MatmulShape>{{1, 16, 16}, {1, 256, 256}, {4, 512, 64}, {2, 64, 1024}, {4, 4096, 24}})
      for (const int threads : {1, 2})
        expect_near(streamed_traffic(shape, 16, threads, caches), simulated_streamed(shape, 16, threads, caches), 0.15,
                    text(shape, caches) + std::to_string(threads));
}

TEST(LevelTraffic, EveryRungTellsIt) {
  for (const Kernel* kernel : match_kernels("cpu/matmul/*"))
    for (const auto& [m, n, k] :
         std::vector<MatmulShape>{{1, 1, 1}, {3, 700, 41}, {37, 41, 43}, {300, 1, 5}, {1000, 1000, 1000}}) {
      if (kernel->is_library || kernel->type != Type::fp32) continue;
      ASSERT_TRUE(kernel->cpu.level_traffic) << kernel->name;
      Params params = with_tunables(*kernel, {});
      params.set("m", m), params.set("n", n), params.set("k", k);
      const LevelTraffic bytes = kernel->cpu.level_traffic(params);
      EXPECT_GE(bytes.l1, Floats({m, n, k}).all_bytes()) << kernel->name << ", " << text({m, n, k}, machine_caches());
      for (const double level : {bytes.l2, bytes.l3, bytes.dram}) {
        EXPECT_GE(level, 0) << kernel->name;
        EXPECT_TRUE(std::isfinite(level)) << kernel->name;
      }
    }
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
  for (const LevelTraffic& bytes :
       {naive_traffic(shape), interchanged_traffic(shape), strips_traffic(shape, 16), blocked_traffic(shape, 16),
        packed_traffic(shape, 8, 8, 8, 8, 8, 1), register_tile_traffic(shape, 6, 16, 256, 64, 1),
        streamed_traffic({4, 8, 8}, 8, 1)}) {
    EXPECT_GT(bytes.l1, 0);
    if (cpu_info().l1d_bytes >= 16384) {
      EXPECT_EQ(bytes.l2 + bytes.l3 + bytes.dram, 0);
    }
  }
}

}  // namespace
}  // namespace rung
