/// Matrix units: AMX multiplies a tile of 16 x 32 bfloat16 by one of 32 x 16 in a single instruction, 16384 operations,
/// and adds the product to a tile of 16 x 16 float32. The blocking is the same as in every fast product:
///   - four tiles of sums, 32 x 32, in registers: each tile of A and of B that is loaded is used twice,
///   - a micro-panel of B, 32 columns wide and `depth` deep, stays in L1 while A's micro-panels are streamed,
///   - a thread's block of C, with its parts of A and B, stays in L2.
/// B is packed into contiguous micro-panels with pairs of rows interleaved, as the instruction requires (the VNNI
/// layout); A is packed, too, unless its rows can be loaded in place. If there is a block for each thread, each packs
/// only the panels that it needs; else all threads pack together first. Edges are padded with zeros, so that all tiles
/// are whole; sums outside C are never stored. AMX flushes subnormal inputs and results to zero.
///
/// Source: Intel Architectures Optimization Reference Manual, chapter on AMX (2D accumulator blocking, VNNI).
#include "common/problem/matmul.hpp"
#include "cpu/amx.hpp"

#ifdef RUNG_AMX
#include <immintrin.h>
#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <memory>
#endif

namespace rung {
namespace {

#ifdef RUNG_AMX
constexpr int kTile = 16;               // rows of any tile, columns of a tile of sums
constexpr int kStep = 32;               // bfloat16 in a tile's row: the depth of one instruction
constexpr int kPanel = 2 * kTile;       // rows of A, or columns of B, of a micro-panel: two tiles
constexpr int kUnit = kPanel * kStep;   // elements of a micro-panel in one step
constexpr int kSums = kPanel * kPanel;  // elements of the four tiles of sums
constexpr int kPackedSteps = 8;         // of A at a time: 512 bytes of each of its rows
constexpr int kPackedPanels = 8;        // of B at a time: 512 bytes of each of its rows

/// Memory that grows; in huge pages if available, since the rows of B are spread over many pages.
template <typename Element>
class Buffer {
 public:
  Element* of(std::size_t count) {
    if (count > count_) {
      const std::size_t bytes = (count * sizeof(Element) + kHugePage - 1) / kHugePage * kHugePage;
      memory_.reset(static_cast<Element*>(std::aligned_alloc(kHugePage, bytes)));
      if (memory_) madvise(memory_.get(), bytes, MADV_HUGEPAGE);
      count_ = memory_ ? count : 0;
      if (!memory_) throw Error("out of memory: " + std::to_string(bytes / 1000000) + " MB for packed operands");
    }
    return memory_.get();
  }

 private:
  static constexpr std::size_t kHugePage = 2u << 20;
  struct Free {
    void operator()(Element* p) const { std::free(p); }
  };
  std::unique_ptr<Element, Free> memory_;
  std::size_t count_ = 0;
};

int ceil_div(int x, int y) { return (x + y - 1) / y; }

/// A product and its blocking.
struct Job {
  Matmul<Bf16> it;
  int steps = 0, row_panels = 0, col_panels = 0;
  int depth = 0;           ///< steps that are summed at a time
  int high = 0, wide = 0;  ///< micro-panels of a block of C
  int packed_rows = 0;     ///< the first micro-panel of A that is packed: the first of all, or the incomplete last one

  std::size_t panel() const { return std::size_t(steps) * kUnit; }       ///< elements of a packed micro-panel
  std::size_t sums() const { return std::size_t(high) * wide * kSums; }  ///< elements of a block of C
  bool is_plain() const { return it.alpha == 1 && it.beta == 0; }
  int blocks() const { return ceil_div(row_panels, high) * ceil_div(col_panels, wide); }
};

/// Packed micro-panels, from `first_row` and `first_col` on.
struct Packed {
  Bf16 *a = nullptr, *b = nullptr;
  int first_row = 0, first_col = 0;
};

/// A micro-panel of A, packed or in place.
struct PanelOfA {
  const Bf16* at = nullptr;
  std::size_t step = 0, row = 0;  ///< elements from one step, or row, to the next
};

/// Source or destination of the sums of 32 x 32 elements.
struct Sums {
  float* at = nullptr;
  std::size_t row = kPanel;  ///< elements from one to the next
};

__attribute__((target("avx512f,avx512bw"))) __m512i load_row(const Bf16* matrix, std::int64_t ld, int row, int rows,
                                                             int col, int cols) {
  if (row >= rows || col >= cols) return _mm512_setzero_si512();
  const __mmask32 inside = cols - col >= kStep ? ~__mmask32{0} : (__mmask32{1} << (cols - col)) - 1;
  return _mm512_maskz_loadu_epi16(inside, matrix + row * ld + col);
}

/// One step of micro-panels first to last - 1 of B. Rows 2p and 2p + 1 become row p of a tile: b[2p][0], b[2p + 1][0],
/// b[2p][1], b[2p + 1][1] …
__attribute__((target("avx512f,avx512bw"))) void pack_b(const Job& job, const Packed& packed, int step, int first,
                                                        int last) {
  alignas(64) std::uint16_t order[2][kStep];
  for (int i = 0; i < kStep; ++i)
    for (const int half : {0, 1}) order[half][i] = static_cast<std::uint16_t>(i / 2 + i % 2 * kStep + half * kTile);
  const __m512i left = _mm512_load_si512(order[0]), right = _mm512_load_si512(order[1]);
  for (int pair = 0; pair < kTile; ++pair)
    for (int panel = first; panel < last; ++panel) {
      const int row = step * kStep + 2 * pair, col = panel * kPanel;
      const __m512i even = load_row(job.it.b, job.it.ldb, row, job.it.k, col, job.it.n);
      const __m512i odd = load_row(job.it.b, job.it.ldb, row + 1, job.it.k, col, job.it.n);
      Bf16* const to = packed.b + (panel - packed.first_col) * job.panel() + step * kUnit + pair * kStep;
      _mm512_store_si512(to, _mm512_permutex2var_epi16(even, left, odd));
      _mm512_store_si512(to + kUnit / 2, _mm512_permutex2var_epi16(even, right, odd));
    }
}

/// Packs some steps of a micro-panel of A, from `first` on.
__attribute__((target("avx512f,avx512bw"))) void pack_a(const Job& job, const Packed& packed, int panel, int first) {
  const int last = std::min(first + kPackedSteps, job.steps);
  for (int row = 0; row < kPanel; ++row)
    for (int step = first; step < last; ++step)
      _mm512_store_si512(packed.a + (panel - packed.first_row) * job.panel() + step * kUnit + row * kStep,
                         load_row(job.it.a, job.it.lda, panel * kPanel + row, job.it.m, step * kStep, job.it.k));
}

__attribute__((target("amx-tile"))) void use_tiles() {
  static const TileShapes shapes;
  asm volatile("" ::: "memory");  // g++'s tile loads do not declare what they read: it must be in memory
  _tile_loadconfig(&shapes);
}

__attribute__((target("amx-tile"))) void release_tiles() { _tile_release(); }

/// to = (from, or 0) + a micro-panel of A times a micro-panel of B over some steps. Tiles 0 to 3 hold the sums, 4 and 5
/// the upper and the lower rows of A, 6 and 7 the left and the right columns of B.
__attribute__((target("amx-tile,amx-bf16"))) void multiply_panels(const PanelOfA& panel, const Bf16* b, int steps,
                                                                  const Sums* from, const Sums& to) {
  if (from) {
    const std::size_t row = from->row * sizeof(float);
    _tile_loadd(0, from->at, row);
    _tile_loadd(1, from->at + kTile, row);
    _tile_loadd(2, from->at + kTile * from->row, row);
    _tile_loadd(3, from->at + kTile * from->row + kTile, row);
  } else {
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
  }
  const std::size_t a_row = panel.row * sizeof(Bf16), a_lower = kTile * panel.row, a_step = panel.step;
  const Bf16* a = panel.at;
  for (int step = 0; step < steps; ++step, a += a_step, b += kUnit) {
    _tile_loadd(6, b, 64);
    _tile_loadd(4, a, a_row);
    _tile_loadd(7, b + kUnit / 2, 64);
    _tile_dpbf16ps(0, 4, 6);
    _tile_loadd(5, a + a_lower, a_row);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
  const std::size_t row = to.row * sizeof(float);
  _tile_stored(0, to.at, row);
  _tile_stored(1, to.at + kTile, row);
  _tile_stored(2, to.at + kTile * to.row, row);
  _tile_stored(3, to.at + kTile * to.row + kTile, row);
}

/// Writes sums of 32 x 32 elements to C, as far as they are inside.
__attribute__((target("avx512f"))) void write_out(const Matmul<Bf16>& it, const float* sums, int row, int col) {
  const int rows = std::min(kPanel, it.m - row), cols = std::min(kPanel, it.n - col);
  for (int r = 0; r < rows; ++r) {
    float* const to = it.c + (row + r) * it.ldc + col;
    const float* const from = sums + r * kPanel;
    if (it.beta == 0)
      for (int i = 0; i < cols; ++i) to[i] = it.alpha * from[i];
    else
      for (int i = 0; i < cols; ++i) to[i] = it.alpha * from[i] + it.beta * to[i];
  }
}

PanelOfA panel_of_a(const Job& job, const Packed& packed, int panel, int step) {
  if (panel < job.packed_rows)
    return {.at = job.it.a + panel * kPanel * job.it.lda + step * kStep,
            .step = kStep,
            .row = static_cast<std::size_t>(job.it.lda)};
  return {.at = packed.a + (panel - packed.first_row) * job.panel() + step * kUnit, .step = kUnit, .row = kStep};
}

/// One block of C: `sums` has room for all its elements, which are kept there until the last steps are added.
void multiply_block(const Job& job, const Packed& packed, int top, int left, float* sums) {
  const int bottom = std::min(top + job.high, job.row_panels), right = std::min(left + job.wide, job.col_panels);
  for (int step = 0; step < job.steps; step += job.depth) {
    const int steps = std::min(job.depth, job.steps - step);
    const bool is_last = step + steps == job.steps;
    for (int j = left; j < right; ++j) {
      const Bf16* const b = packed.b + (j - packed.first_col) * job.panel() + step * kUnit;
      for (int i = top; i < bottom; ++i) {
        const Sums kept{.at = sums + ((i - top) * job.wide + (j - left)) * kSums};
        const int row = i * kPanel, col = j * kPanel;
        const bool is_whole = row + kPanel <= job.it.m && col + kPanel <= job.it.n;
        const bool goes_to_c = is_last && is_whole && job.is_plain();
        const Sums in_c{.at = job.it.c + row * job.it.ldc + col, .row = static_cast<std::size_t>(job.it.ldc)};
        multiply_panels(panel_of_a(job, packed, i, step), b, steps, step > 0 ? &kept : nullptr,
                        goes_to_c ? in_c : kept);
        if (is_last && !goes_to_c) write_out(job.it, kept.at, row, col);
      }
    }
  }
}

/// Steps between loading and storing the sums: few enough that a micro-panel of B stays in L1 while A's are streamed;
/// all steps if there are not many more.
int choose_depth(int steps) {
  constexpr int kFew = 16, kNotMany = 32;
  return steps <= kNotMany ? steps : kFew;
}

/// Chooses the block of C: the cost is the work of the busiest thread plus the loading of micro-panels, which larger
/// blocks reuse more. Rows of A more than a page apart map to few sets of L2, which then holds fewer of them.
void choose_block(Job& job, int threads) {
  constexpr int kMost = 8, kMostOfFarRows = 4;
  const bool is_far = job.packed_rows > 0 && job.it.lda * sizeof(Bf16) > 4096;
  const int most = is_far ? kMostOfFarRows : kMost;
  double least = 0;
  for (int high = 1; high <= most; ++high)
    for (int wide = 1; wide <= most; ++wide) {
      const double blocks = double(ceil_div(job.row_panels, high)) * ceil_div(job.col_panels, wide);
      const double rounds = std::ceil(blocks / threads);
      const double cost = rounds * high * wide * (1 + 0.5 / high + 0.5 / wide);
      if (least == 0 || cost < least) least = cost, job.high = high, job.wide = wide;
    }
}

/// Memory for packed operands and sums, kept between calls.
struct Scratch {
  Buffer<Bf16> a, b;
  Buffer<float> sums;
  static Scratch& mine() {
    thread_local Scratch scratch;
    return scratch;
  }
};

/// For at most one block per thread: each thread packs only for its own block, and does not wait for others.
void multiply_apart(const Job& job) {
  const int wide = ceil_div(job.col_panels, job.wide), blocks = job.blocks();
  Bf16* const a_panels = Scratch::mine().a.of(blocks * job.high * job.panel());
  Bf16* const b_panels = Scratch::mine().b.of(blocks * job.wide * job.panel());
  float* const sums = Scratch::mine().sums.of(blocks * job.sums());
#pragma omp parallel for schedule(static)
  for (int block = 0; block < blocks; ++block) {
    const int top = block / wide * job.high, left = block % wide * job.wide;
    const int bottom = std::min(top + job.high, job.row_panels), right = std::min(left + job.wide, job.col_panels);
    const Packed packed{.a = a_panels + block * job.high * job.panel(),
                        .b = b_panels + block * job.wide * job.panel(),
                        .first_row = std::max(top, job.packed_rows),
                        .first_col = left};
    for (int panel = packed.first_row; panel < bottom; ++panel)
      for (int step = 0; step < job.steps; step += kPackedSteps) pack_a(job, packed, panel, step);
    for (int step = 0; step < job.steps; ++step) pack_b(job, packed, step, left, right);
    use_tiles();
    multiply_block(job, packed, top, left, sums + block * job.sums());
    release_tiles();
  }
}

/// More blocks than threads: all threads pack both operands, then take block after block.
void multiply_together(const Job& job) {
  Scratch& scratch = Scratch::mine();
  const Packed packed{.a = scratch.a.of((job.row_panels - job.packed_rows) * job.panel()),
                      .b = scratch.b.of(job.col_panels * job.panel()),
                      .first_row = job.packed_rows};
  float* const sums = scratch.sums.of(omp_get_max_threads() * job.sums());
#pragma omp parallel
  {
#pragma omp for collapse(2) schedule(static) nowait
    for (int panel = job.packed_rows; panel < job.row_panels; ++panel)
      for (int step = 0; step < job.steps; step += kPackedSteps) pack_a(job, packed, panel, step);
#pragma omp for collapse(2) schedule(static)
    for (int panel = 0; panel < job.col_panels; panel += kPackedPanels)
      for (int step = 0; step < job.steps; ++step)
        pack_b(job, packed, step, panel, std::min(panel + kPackedPanels, job.col_panels));
    float* const my_sums = sums + omp_get_thread_num() * job.sums();
    use_tiles();
#pragma omp for collapse(2) schedule(dynamic) nowait
    for (int top = 0; top < job.row_panels; top += job.high)
      for (int left = 0; left < job.col_panels; left += job.wide) multiply_block(job, packed, top, left, my_sums);
    release_tiles();
  }
}

void matmul_amx(const Matmul<Bf16>& it) {
  if (it.alpha == 0) return scale_output(it);
  Job job{.it = it,
          .steps = ceil_div(it.k, kStep),
          .row_panels = ceil_div(it.m, kPanel),
          .col_panels = ceil_div(it.n, kPanel),
          .depth = choose_depth(ceil_div(it.k, kStep))};
  // If rows did not start at a cache line, each row of a tile would touch two lines.
  const bool in_place = it.k % kStep == 0 && it.lda % kStep == 0 && reinterpret_cast<std::uintptr_t>(it.a) % 64 == 0;
  job.packed_rows = in_place ? it.m / kPanel : 0;
  choose_block(job, omp_get_max_threads());
  if (job.blocks() <= omp_get_max_threads())
    multiply_apart(job);
  else
    multiply_together(job);
}
#else
void matmul_amx(const Matmul<Bf16>&) { throw Error(refuse_amx_bf16()); }
#endif

const bool added = add_kernel({
    .name = "cpu/matmul/amx_bf16",
    .order = 50,
    .title = "AMX tiles",
    .idea = "A matrix unit in each core: one instruction multiplies tiles of 16 x 32 and 32 x 16; packed and blocked.",
    .source = {{"intel-optimization", "chapter on AMX"}},
    .type = Type::bf16,
    .is_general = true,
    .refuse =
        [](const Params&) {
          static const std::string reason = refuse_amx_bf16();
          return reason;
        },
    .run = [](const Call& call) { matmul_amx(matmul_of<Bf16>(call)); },
});

}  // namespace
}  // namespace rung
