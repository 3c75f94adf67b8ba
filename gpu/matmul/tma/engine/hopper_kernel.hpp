/// The kernel of the rungs for compute capability 9.0. For files compiled for sm_90a, with ptxas -O1, and for the
/// emulator. At higher levels ptxas moves the reads from shared memory next to their use and reorders the FFMAs, which
/// is slower.
///
/// A block is warp-specialised: computing warps, and warps that issue the loads. Each stage of the ring has two
/// mbarriers: a phase of `full` ends when both tiles have been written, a phase of `empty` when every computing warp
/// has read them.
#pragma once

#include "gpu/host/tensor_map.hpp"
#include "gpu/host/workspace.hpp"
#include "gpu/matmul/general.hpp"
#include "gpu/matmul/tma/engine/hopper.hpp"
#include "gpu/matmul/tma/engine/hopper_prepare.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"

namespace rung::hopper {
inline namespace RUNG_BUILD {

/// A or B where not both have rows that all begin at multiples of 16 bytes: TMA takes no other matrix, nor a tile that
/// begins elsewhere in a row. Tiles of such a matrix are copied element by element. Where TMA takes both, the operands
/// are tensor maps alone.
struct AnyMatrix {
  CUtensorMap map;  // valid if elements.quads
  Matrix<mem<float>> elements;
};

/// C = alpha A B + beta C, of the operands A and B.
struct Product {
  mem<float>* c;
  int m, n, k, ldc;
  float alpha, beta;
  bool quads;            // C's rows begin at multiples of 16 bytes
  int parts;             // as in Work
  bool share;            // as in Work
  mem<float>* partials;  // a tile of sums for each block
  unsigned* flags;       // one for each block; equal to epoch once the block's partial tile is written
  unsigned epoch;
};

// ---- Loading ----

/// Whether tiles may be copied: then each lane of a loading warp arrives, else only the lane that issues TMA loads.
template <class Operand>
constexpr bool kCopies = std::is_same_v<Operand, AnyMatrix>;

/// Copies a tile of kRows x kCols elements, from `row` and `col` on, with a warp; zeros beyond the matrix. If
/// kSwizzled, its chunks of 16 bytes are permuted as TMA does it for such rows. Rows are checked if kChecked.
template <int kRows, int kCols, bool kSwizzled, bool kChecked>
__device__ __forceinline__ void copy_rows(std::uint32_t to, const Matrix<mem<float>>& x, int row, int col, int lane) {
  constexpr int kWide = kCols < 32 ? kCols : 32, kHigh = 32 / kWide;  // elements that the warp copies at once
  // Lines at a time, each with separate registers: a copy's registers are free only when it has left the queue of the
  // memory unit, which the computing warps keep full.
  constexpr int kLines = 4, kStep = kLines * kHigh;
  row += lane / kWide, col += lane % kWide;
  const std::int64_t down = kHigh * x.ld;
  const mem<float>* from[kLines] = {x.at + (row * x.ld + col)};
#pragma unroll
  for (int line = 1; line < kLines; ++line) from[line] = from[line - 1] + down;
  to += lane * 4;
#pragma unroll 2
  for (int first = 0; first < kRows; first += kStep)
#pragma unroll
    for (int line = 0; line < kLines; ++line) {
      const int i = first + line * kHigh;  // the line's first row
      const std::uint32_t permuted = kSwizzled ? (i * kCols * 4 / 128 & (kCols / 4 - 1)) * 16 : 0;
#pragma unroll
      for (int j = 0; j < kCols; j += kWide)
        copy_element((to ^ permuted) + (i * kCols + j) * 4, from[line] + j,
                     (!kChecked || row + i < x.rows) && col + j < x.cols);
      from[line] += kLines * down;
    }
}

template <int kRows, int kCols, bool kSwizzled>
__device__ __forceinline__ void copy_tile(std::uint32_t to, const Matrix<mem<float>>& x, int row, int col, int lane) {
  if (row + kRows <= x.rows)
    copy_rows<kRows, kCols, kSwizzled, false>(to, x, row, col, lane);
  else
    copy_rows<kRows, kCols, kSwizzled, true>(to, x, row, col, lane);
}

/// Loads a stage: a tile of A from `row` and `k` on, one of B from `k` and `col` on.
template <Shape kShape>
__device__ __forceinline__ void load_stage(std::uint32_t to, const CUtensorMap& a, const CUtensorMap& b,
                                           std::uint32_t barrier, int row, int col, int k) {
  if (!elect_one()) return;
  barrier_expect(barrier, kShape.stage_bytes());
  tma_load(to, &a, barrier, kShape.transposed ? row : k, kShape.transposed ? k : row);
  tma_load(to + kShape.stage_a() * 4, &b, barrier, col, k);
}
template <Shape kShape>
__device__ __forceinline__ void load_stage(std::uint32_t to, const AnyMatrix& a, const AnyMatrix& b,
                                           std::uint32_t barrier, int row, int col, int k) {
  const std::uint32_t to_b = to + kShape.stage_a() * 4;
  const int lane = opaque(threadIdx.x) % 32;  // opaque(): not in a register that the computing warps share
  const bool a_quads = kShape.transposed || a.elements.quads, b_quads = b.elements.quads;
  if (elect_one()) {
    barrier_expect(barrier, ((a_quads ? kShape.stage_a() : 0) + (b_quads ? kShape.stage_b() : 0)) * 4);
    if (a_quads) tma_load(to, &a.map, barrier, kShape.transposed ? row : k, kShape.transposed ? k : row);
    if (b_quads) tma_load(to_b, &b.map, barrier, col, k);
  }
  if constexpr (!kShape.transposed)
    if (!a_quads) copy_tile<kShape.block_rows(), kShape.depth, true>(to, a.elements, row, k, lane);
  if (!b_quads) copy_tile<kShape.depth, kShape.block_cols(), false>(to_b, b.elements, k, col, lane);
  barrier_arrive_after_copies(barrier);
}

/// Issues every `loaders`-th stage of a block, from the `loader`-th on. The loading warps alternate, so that each of
/// the multiprocessor's four schedulers executes a quarter of that work: a block waits for its slowest scheduler.
template <Shape kShape, class Operand, class Schedule>
__device__ __forceinline__ void load_tiles(const Operand& a, const Operand& b, std::uint32_t tiles_at,
                                           std::uint32_t full, std::uint32_t empty, Schedule schedule, int rows,
                                           int cols, int loader) {
  wait_for_previous_kernel();  // it may still be transposing A, or reading what this one writes
  int stage = loader, skip = loader;
  std::uint32_t phase = 1;  // all stages are empty at first
  Piece piece;
  while (schedule.next(piece)) {
    const Place place = Schedule::place(piece.tile, rows, cols);
    const int row = place.row * kShape.block_rows(), col = place.col * kShape.block_cols();
#pragma unroll 1
    for (; skip < piece.length; skip += kShape.loaders) {
      const std::uint32_t barrier = full + stage * 8, to = tiles_at + stage * kShape.stage_bytes();
      const int k = (piece.k0 + skip) * kShape.depth;
      barrier_wait(empty + stage * 8, phase);
      load_stage<kShape>(to, a, b, barrier, row, col, k);
      stage += kShape.loaders;
      if (stage >= kShape.stages) stage -= kShape.stages, phase ^= 1;
    }
    skip -= piece.length;
  }
  if constexpr (kCopies<Operand>) wait_for_all_copies();
}

// ---- Computing ----

/// A lane's place in the tile of its warp. Lanes i, i ^ 1 and i ^ 2 differ in row and in column, so that no two of them
/// read the same float4 of A or of B: a read of 16 bytes then takes four wavefronts instead of two, and returns at a
/// rate that leaves the write ports of the register file to the FFMAs.
__device__ __forceinline__ int lane_row(int lane) { return (lane >> 2) ^ (lane & 3); }
__device__ __forceinline__ int lane_col(int lane) { return lane & 3; }

/// sum += a b for one step in k, row by row in alternating direction, so that each FFMA shares an operand with the
/// previous one. Calls before(n) before the n-th FFMA, for n a multiple of 4.
template <Shape kShape, class A, class B, class Before>
__device__ __forceinline__ void outer_product(reg<float> (&sum)[kShape.rows][kShape.cols], A a_at, B b_at,
                                              Before before) {
#pragma unroll
  for (int n = 0; n < kShape.rows * kShape.cols; ++n) {
    if (n % 4 == 0) before(n);
    const int i = n / kShape.cols, j = n % kShape.cols, col = i % 2 ? kShape.cols - 1 - j : j;
    fma_into(sum[i][col], a_at(i), b_at(col));
  }
}

/// A thread's elements of A and B, double-buffered: for the current step and the next one.
template <Shape kShape>
struct Fragments;

/// A as [k][m] and B as [k][n]: a step reads rows / 4 + cols / 4 float4s.
template <Shape kShape>
requires(kShape.transposed) struct Fragments<kShape> {
  static constexpr int kA = kShape.rows / 4, kB = kShape.cols / 4;
  reg<float> a[2][kA][4], b[2][kB][4];

  __device__ static std::uint32_t offset_a(int warp_row, int row, int slice) {
    return (warp_row * kLanesDown * kShape.rows + row * 4 + slice * kShape.unroll * kShape.block_rows()) * 4;
  }
  /// The row, in the block's tile, of the i-th row of this thread.
  __device__ static int row(int warp_row, int row, int i) {
    return warp_row * kLanesDown * kShape.rows + (i / 4) * kLanesDown * 4 + row * 4 + i % 4;
  }
  __device__ void load_a(int buffer, int g, std::uint32_t base, int k) {
    read_shared(a[buffer][g], base + (k * kShape.block_rows() + g * kLanesDown * 4) * 4);
  }
  __device__ void load_b(int buffer, int g, std::uint32_t base, int k) {
    read_shared(b[buffer][g], base + (k * kShape.block_cols() + g * kLanesAcross * 4) * 4);
  }
  __device__ void load_first(std::uint32_t at_a, std::uint32_t at_b, int, int) {
#pragma unroll
    for (int g = 0; g < kA; ++g) load_a(0, g, at_a, 0);
#pragma unroll
    for (int g = 0; g < kB; ++g) load_b(0, g, at_b, 0);
  }
  /// Address in a stage of the steps from part * unroll on, and of the steps after those, which may be in the next
  /// stage.
  __device__ static std::uint32_t at_a(std::uint32_t stage, int part, int, int) {
    return stage + part * kShape.unroll * kShape.block_rows() * 4;
  }
  __device__ static std::uint32_t next_a(std::uint32_t at, std::uint32_t next_stage, bool last, int, int, int) {
    return last ? next_stage : at + kShape.unroll * kShape.block_rows() * 4;
  }
  /// `unroll` steps in k; the step after them is the first one at next_a, next_b. The reads for a step are spread over
  /// the previous step. Calls before(s) before step s.
  template <class Before>
  __device__ void steps(reg<float> (&sum)[kShape.rows][kShape.cols], std::uint32_t at_a, std::uint32_t at_b,
                        std::uint32_t next_a, std::uint32_t next_b, int, int, Before before) {
#pragma unroll
    for (int s = 0; s < kShape.unroll; ++s) {
      before(s);
      const bool last = s == kShape.unroll - 1;
      const std::uint32_t from_a = last ? next_a : at_a, from_b = last ? next_b : at_b;
      const int k = last ? 0 : s + 1, now = s % 2;
      outer_product<kShape>(
          sum, [&](int i) { return a[now][i / 4][i % 4]; }, [&](int j) { return b[now][j / 4][j % 4]; },
          [&](int n) { load_one(n, 1 - now, from_a, from_b, k); });
      load_one(kShape.rows * kShape.cols, 1 - now, from_a, from_b, k);
    }
  }
  /// The read before the n-th FFMA: one every `gap` FFMAs, in the order of use: a's first float4, b's, a's others.
  __device__ void load_one(int n, int buffer, std::uint32_t from_a, std::uint32_t from_b, int k) {
    if (n % kShape.gap != 0) return;
    const int g = n / kShape.gap;
    if (g == 0)
      load_a(buffer, 0, from_a, k);
    else if (g <= kB)
      load_b(buffer, g - 1, from_b, k);
    else if (g < kA + kB)
      load_a(buffer, g - kB, from_a, k);
  }
};

/// A as [m][k], swizzled by TMA: a read of 16 bytes returns four steps of a row, so four steps read `rows` float4s.
template <Shape kShape>
requires(!kShape.transposed) struct Fragments<kShape> {
  static constexpr int kB = kShape.cols / 4;
  reg<float> a[kShape.rows][4], b[2][kB][4];

  __device__ static std::uint32_t offset_a(int warp_row, int row, int) {
    return (warp_row * kLanesDown * kShape.rows + row) * kShape.depth * 4;
  }
  __device__ static int row(int warp_row, int row, int i) {
    return warp_row * kLanesDown * kShape.rows + i * kLanesDown + row;
  }
  /// Offset of float4 `chunk` in this lane's rows after swizzling. The rows are 8 apart, so it is the same for all.
  __device__ static std::uint32_t swizzled(int chunk, int row) { return (chunk ^ (row / (32 / kShape.depth))) * 16; }
  __device__ void load_a(int i, std::uint32_t base) { read_shared(a[i], base + i * kLanesDown * kShape.depth * 4); }
  __device__ void load_b(int buffer, int g, std::uint32_t base, int k) {
    read_shared(b[buffer][g], base + (k * kShape.block_cols() + g * kLanesAcross * 4) * 4);
  }
  __device__ void load_first(std::uint32_t at_a, std::uint32_t at_b, int row, int chunk) {
#pragma unroll
    for (int i = 0; i < kShape.rows; ++i) load_a(i, at_a + swizzled(chunk, row));
#pragma unroll
    for (int g = 0; g < kB; ++g) load_b(0, g, at_b, 0);
  }
  __device__ static std::uint32_t at_a(std::uint32_t stage, int, int, int) { return stage; }
  __device__ static std::uint32_t next_a(std::uint32_t at, std::uint32_t next_stage, bool last, int part, int row,
                                         int chunk) {
    return last ? next_stage + swizzled(chunk, row) : at + swizzled((part + 1) * kShape.unroll / 4, row);
  }
  /// As above. The rows of a are refilled in the last of four steps, each as soon as it is free; the reads of b are
  /// placed between those.
  template <class Before>
  __device__ void steps(reg<float> (&sum)[kShape.rows][kShape.cols], std::uint32_t at_a, std::uint32_t at_b,
                        std::uint32_t next_a, std::uint32_t next_b, int row, int chunk, Before before) {
#pragma unroll
    for (int s = 0; s < kShape.unroll; ++s) {
      before(s);
      const bool last = s == kShape.unroll - 1;
      const std::uint32_t from_a = last ? next_a : at_a + swizzled(chunk + s / 4 + 1, row);
      const std::uint32_t from_b = last ? next_b : at_b;
      const int k = last ? 0 : s + 1, now = s % 2;
      outer_product<kShape>(
          sum, [&](int i) { return a[i][s % 4]; }, [&](int j) { return b[now][j / 4][j % 4]; },
          [&](int n) {
            if (n % kShape.gap == kShape.gap / 2 && n / kShape.gap < kB) load_b(1 - now, n / kShape.gap, from_b, k);
            if (s % 4 == 3 && n > 0 && n % kShape.cols == 0) load_a(n / kShape.cols - 1, from_a);
          });
      if (s % 4 == 3) load_a(kShape.rows - 1, from_a);
    }
  }
};

// ---- Partial sums ----

/// The address of float4 (i, g) of a thread's sums in the scratch. A warp has 512 contiguous bytes for each.
template <Shape kShape>
__device__ __forceinline__ std::uint32_t quad_in_scratch(std::uint32_t scratch, int thread, int i, int g) {
  return scratch + ((i * kShape.cols / 4 + g) * kShape.slice_threads() + thread) * 16;
}

/// Adds the sums of all slices to the sums of slice 0: a tree reduction through shared memory.
template <Shape kShape>
__device__ __forceinline__ void add_slices(reg<float> (&sum)[kShape.rows][kShape.cols], std::uint32_t scratch,
                                           int slice, int thread) {
#pragma unroll
  for (int half = kShape.slices / 2; half > 0; half /= 2) {
    const std::uint32_t at = scratch + slice % half * kShape.block_rows() * kShape.block_cols() * 4;
    named_barrier<1, kShape.computing()>();  // the scratch may still be read: by a sum, or for the previous tile
    if (slice >= half && slice < 2 * half)
#pragma unroll
      for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
        for (int g = 0; g < kShape.cols / 4; ++g)
          write_shared(quad_in_scratch<kShape>(at, thread, i, g), &sum[i][g * 4]);
    named_barrier<1, kShape.computing()>();
    if (slice < half)
#pragma unroll
      for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
        for (int g = 0; g < kShape.cols / 4; ++g) {
          reg<float> other[4];
          read_shared(other, quad_in_scratch<kShape>(at, thread, i, g));
#pragma unroll
          for (int e = 0; e < 4; ++e) sum[i][g * 4 + e] += other[e];
        }
  }
}

/// A thread's first float4 in the partial tile of a block, where the threads' float4s are interleaved.
template <Shape kShape>
__device__ __forceinline__ mem<float4>* partial_tile(const Product& p, int block, int thread) {
  return vector_cast<float4>(p.partials) + std::size_t(block) * kShape.block_rows() * kShape.block_cols() / 4 + thread;
}

/// Publishes this block's sums of a tile for the block that has the first stages of that tile.
template <Shape kShape>
__device__ __forceinline__ void store_partial(const Product& p, int thread,
                                              const reg<float> (&sum)[kShape.rows][kShape.cols]) {
  mem<float4>* to = partial_tile<kShape>(p, blockIdx.x, thread);
#pragma unroll
  for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
    for (int g = 0; g < kShape.cols / 4; ++g)
      __stcg(to + (i * kShape.cols / 4 + g) * kShape.slice_threads(),
             make_float4(sum[i][g * 4], sum[i][g * 4 + 1], sum[i][g * 4 + 2], sum[i][g * 4 + 3]));
  __threadfence();
  named_barrier<2, kShape.slice_threads()>();
  if (thread == 0) release(p.flags + blockIdx.x, p.epoch);
}

/// Adds the following blocks' sums of the tile that ends at unit `tile_end`, in the order of the blocks, so that
/// results are reproducible. Each of these blocks begins with that piece, and all blocks are resident, so the wait
/// terminates.
template <Shape kShape, class Schedule>
__device__ __forceinline__ void add_partials(const Product& p, const Schedule& schedule, int tile_end, int thread,
                                             reg<float> (&sum)[kShape.rows][kShape.cols]) {
  for (int block = blockIdx.x + 1; block < schedule.blocks && schedule.first_unit(block) < tile_end; ++block) {
    if (schedule.first_unit(block) == schedule.first_unit(block + 1)) continue;
    while (acquire(p.flags + block) != p.epoch) {
    }
    const mem<float4>* from = partial_tile<kShape>(p, block, thread);
#pragma unroll
    for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
      for (int g = 0; g < kShape.cols / 4; ++g) {
        const float4 other = __ldcg(from + (i * kShape.cols / 4 + g) * kShape.slice_threads());
        sum[i][g * 4] += other.x, sum[i][g * 4 + 1] += other.y;
        sum[i][g * 4 + 2] += other.z, sum[i][g * 4 + 3] += other.w;
      }
  }
}

// ---- The block ----

/// C = sum + beta C, for a thread's elements of the tile at `place`.
template <Shape kShape>
__device__ __forceinline__ void store_tile(const Product& p, mem<float>* c, Place place, int warp_row, int lane,
                                           int col, const reg<float> (&sum)[kShape.rows][kShape.cols]) {
#pragma unroll
  for (int i = 0; i < kShape.rows; ++i) {
    const int y = place.row * kShape.block_rows() + Fragments<kShape>::row(warp_row, lane_row(lane), i);
    if (y >= p.m) continue;
    mem<float>* line = c + static_cast<std::size_t>(y) * p.ldc;
#pragma unroll
    for (int g = 0; g < kShape.cols / 4; ++g) {
      const int x = place.col * kShape.block_cols() + col + g * kLanesAcross * 4;
      const reg<float>* quad = &sum[i][g * 4];
      if (p.quads && x + 3 < p.n) {
        float4 out = make_float4(quad[0], quad[1], quad[2], quad[3]);
        if (p.beta != 0) {
          const float4 old = *vector_cast<float4>(line + x);
          out = make_float4(quad[0] + p.beta * old.x, quad[1] + p.beta * old.y, quad[2] + p.beta * old.z,
                            quad[3] + p.beta * old.w);
        }
        __stcs(vector_cast<float4>(line + x), out);
      } else {
#pragma unroll
        for (int e = 0; e < 4; ++e)
          if (x + e < p.n) line[x + e] = p.beta == 0 ? quad[e] : quad[e] + p.beta * line[x + e];
      }
    }
  }
}

/// As store_tile(), for a C whose rows are not aligned to 16 bytes. A thread has four elements of a row; if each lane
/// stored one at a time, each would write to a different sector. Through the scratch a warp stores 32 neighbours.
template <Shape kShape>
__device__ __forceinline__ void store_lines(const Product& p, mem<float>* c, Place place, int warp_row, int lane,
                                            int col, const reg<float> (&sum)[kShape.rows][kShape.cols],
                                            std::uint32_t scratch, int thread) {
  constexpr int kRow = kLanesAcross * 4;  // elements of a row in 512 bytes
  constexpr int kParts = kLanesAcross * kShape.cols / 32;
  const std::uint32_t warps = scratch + (thread - lane) * 16;
  const auto line_at = [&](int i, int g, int row) {  // odd g: the other half of the banks
    return quad_in_scratch<kShape>(warps, 0, i, g) + (row ^ (g & 1)) * kRow * 4;
  };
  const int first_x = place.col * kShape.block_cols() + col - lane_col(lane) * 4;
  __syncwarp();  // lanes may still be adding sums that others will overwrite
#pragma unroll
  for (int i = 0; i < kShape.rows; ++i) {
#pragma unroll
    for (int g = 0; g < kShape.cols / 4; ++g)
      write_shared(line_at(i, g, lane_row(lane)) + lane_col(lane) * 16, &sum[i][g * 4]);
    __syncwarp();
    reg<float> line[kLanesDown][kParts];
#pragma unroll
    for (int row = 0; row < kLanesDown; ++row)
#pragma unroll
      for (int part = 0; part < kParts; ++part) {
        const int at = part * 32 + lane;
        line[row][part] = read_shared_element(line_at(i, at / kRow, row) + at % kRow * 4);
      }
#pragma unroll
    for (int row = 0; row < kLanesDown; ++row) {
      const int y = place.row * kShape.block_rows() + Fragments<kShape>::row(warp_row, row, i);
      mem<float>* to = c + static_cast<std::size_t>(y) * p.ldc + first_x + lane;
#pragma unroll
      for (int part = 0; part < kParts; ++part)
        if (y < p.m && first_x + part * 32 + lane < p.n)
          to[part * 32] = p.beta == 0 ? line[row][part] : line[row][part] + p.beta * to[part * 32];
    }
  }
}

template <Shape kShape, class Schedule>
__device__ __forceinline__ void compute(const Product& p, Schedule schedule, std::uint32_t tiles_at, std::uint32_t full,
                                        std::uint32_t empty, int rows, int cols) {
  using Fragment = Fragments<kShape>;
  const int slice = threadIdx.x / kShape.slice_threads(), thread = threadIdx.x % kShape.slice_threads();
  const int warp = thread / 32, lane = thread % 32, row = lane_row(lane);
  const int warp_row = warp / kShape.warps_across, warp_col = warp % kShape.warps_across;
  const int col = warp_col * kLanesAcross * kShape.cols + lane_col(lane) * 4;
  const std::uint32_t base_a = tiles_at + Fragment::offset_a(warp_row, row, slice);
  const std::uint32_t base_b = tiles_at + (kShape.stage_a() + slice * kShape.unroll * kShape.block_cols() + col) * 4;
  const int chunk = kShape.slices > 1 ? slice * kShape.unroll / 4 : 0;  // the first float4 of A's rows in a stage

  int left = schedule.total();  // stages
  if (left == 0) return;
  // 0, unknown to the compiler, so that it counts stages in ordinary registers. In uniform registers the results of the
  // counters come late, and the reads that depend on them bunch together (checked by tests/gpu/sass_test.cpp).
  const int zero = opaque(threadIdx.x) >> 10;
  int stage = zero;
  std::uint32_t phase = zero;
  left += zero;
  barrier_wait(full, 0);
  Fragment fragments;
  fragments.load_first(base_a, base_b, row, chunk);
  reg<float> sum[kShape.rows][kShape.cols];
  Piece piece;
  while (schedule.next(piece)) {
#pragma unroll
    for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
      for (int j = 0; j < kShape.cols; ++j) sum[i][j] = 0;
#pragma unroll 1
    for (int kt = 0; kt < piece.length; ++kt) {
      const std::uint32_t at = stage * kShape.stage_bytes(), release_stage = empty + stage * 8;
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
      const std::uint32_t next = read_ahead_from(stage * kShape.stage_bytes(), at, left == 1),
                          filled = full + stage * 8;
      --left;
      const int parts = opaque(kShape.depth / kShape.unroll / kShape.slices);  // prevents peeling of the loop
#pragma unroll 1
      for (int part = 0; part < parts; ++part) {
        const bool last = part == parts - 1;
        const std::uint32_t at_a = Fragment::at_a(base_a + at, part, row, chunk);
        const std::uint32_t at_b = base_b + at + part * kShape.unroll * kShape.block_cols() * 4;
        const std::uint32_t next_a = Fragment::next_a(at_a, base_a + next, last, part, row, chunk);
        const std::uint32_t next_b = last ? base_b + next : at_b + kShape.unroll * kShape.block_cols() * 4;
        const auto before = [&](int s) {
          if (s == kShape.unroll - 1) barrier_wait_if(last && left > 0, filled, phase);
        };
        fragments.steps(sum, at_a, at_b, next_a, next_b, row, chunk + part * kShape.unroll / 4, before);
      }
      __syncwarp();
      if (lane == 0) barrier_arrive(release_stage);
    }
    // With the scaled sums in separate registers, `sum` need not have the register order of a 16-byte store, and the
    // compiler can place a sum and its element of B in different register banks.
    reg<float> out[kShape.rows][kShape.cols];
#pragma unroll
    for (int i = 0; i < kShape.rows; ++i)
#pragma unroll
      for (int j = 0; j < kShape.cols; ++j) out[i][j] = p.alpha * sum[i][j];
    if constexpr (kShape.slices > 1) {
      add_slices<kShape>(out, empty + kShape.stages * 8, slice, thread);
      if (slice > 0) continue;
    }
    mem<float>* c = p.c;
    if constexpr (Schedule::kShares) {
      if (piece.k0 > 0 && p.parts == 1) {
        store_partial<kShape>(p, thread, out);
        continue;
      }
      if (piece.length < schedule.k_tiles && p.parts == 1)
        add_partials<kShape>(p, schedule, (piece.tile - schedule.dense + 1) * schedule.k_tiles, thread, out);
      if (p.parts > 1) c += static_cast<std::size_t>(blockIdx.x / schedule.tiles) * p.m * p.ldc;
    }
    const Place place = Schedule::place(piece.tile, rows, cols);
    if (kShape.slices > 1 && !p.quads)
      store_lines<kShape>(p, c, place, warp_row, lane, col, out, empty + kShape.stages * 8, thread);
    else
      store_tile<kShape>(p, c, place, warp_row, lane, col, out);
  }
}

/// Moves registers from the loading warps, which keep kLoading, to the computing ones. A scheduler has 512 registers
/// per lane and one loading warp.
template <Shape kShape, int kLoading, bool kMore>
__device__ __forceinline__ void move_registers() {
  if constexpr (kShape.loaders == 4 && kShape.computing() >= 256) {
    constexpr int kWarps = kShape.computing() / 128;   // computing warps of a scheduler
    constexpr int kEven = 512 / (kWarps + 1) / 8 * 8;  // at the start
    constexpr int kMany = ((kWarps + 1) * kEven - kLoading) / kWarps / 8 * 8;
    if constexpr (kMore)
      more_registers<kMany>();
    else
      fewer_registers<kLoading>();
  }
}

/// Operand: CUtensorMap or AnyMatrix.
template <class Tile, class Schedule, class Operand>
__global__ void __launch_bounds__(Tile::kShape.threads(), 1)
    matmul_hopper(const __grid_constant__ Operand a, const __grid_constant__ Operand b, const Product p) {
  constexpr Shape kShape = Tile::kShape;
  static_assert(kShape.is_possible());
  constexpr int kLoading = kCopies<Operand> ? 40 : 24;  // registers: the addresses of copies need more
  // TMA's swizzle repeats every 1024 bytes. opaque(): the address is not to be recomputed in the loops.
  const std::uint32_t tiles_at = opaque((shared_address(dynamic_shared<unsigned char>()) + 1023) & ~1023u);
  const std::uint32_t full = tiles_at + kShape.stages * kShape.stage_bytes(), empty = full + kShape.stages * 8;
  if (threadIdx.x == 0) {
    for (int s = 0; s < kShape.stages; ++s) {
      barrier_init(full + s * 8, kCopies<Operand> ? 1 + 32 : 1);
      barrier_init(empty + s * 8, kShape.computing() / 32);
    }
    publish_barriers();
  }
  __syncthreads();
  allow_next_kernel();  // its blocks are set up where blocks of this kernel have ended
  const int rows = (p.m + kShape.block_rows() - 1) / kShape.block_rows();
  const int cols = (p.n + kShape.block_cols() - 1) / kShape.block_cols();
  const Schedule schedule(Work{rows * cols, (p.k + kShape.depth - 1) / kShape.depth, p.parts, p.share});
  if (threadIdx.x >= kShape.computing()) {
    move_registers<kShape, kLoading, false>();
    const int loader = __shfl_sync(~0u, (threadIdx.x - kShape.computing()) / 32, 0);
    load_tiles<kShape>(a, b, tiles_at, full, empty, schedule, rows, cols, loader);
    return;
  }
  move_registers<kShape, kLoading, true>();
  compute<kShape>(p, schedule, tiles_at, full, empty, rows, cols);
}

// ---- The call ----

template <Shape kShape>
CUtensorMap map_of_a(const General& g, const float* transposed) {
  if (kShape.transposed)
    return tensor_map({.at = transposed,
                       .cols = g.m,
                       .rows = g.k,
                       .pitch = padded(g.m),
                       .box_cols = kShape.block_rows(),
                       .box_rows = kShape.depth});
  return tensor_map({.at = g.a.at,
                     .cols = g.k,
                     .rows = g.m,
                     .pitch = g.a.ld,
                     .box_cols = kShape.depth,
                     .box_rows = kShape.block_rows(),
                     .swizzle = kShape.depth == 32   ? Swizzle::of_128_bytes
                                : kShape.depth == 16 ? Swizzle::of_64_bytes
                                                     : Swizzle::of_32_bytes});
}

template <Shape kShape>
CUtensorMap map_of_b(const General& g) {
  return tensor_map({.at = g.b.at,
                     .cols = g.n,
                     .rows = g.k,
                     .pitch = g.b.ld,
                     .box_cols = kShape.block_cols(),
                     .box_rows = kShape.depth});
}

/// The workspace of a call.
template <Shape kShape>
Workspace& workspace_of(const General& g, const Plan& plan, std::size_t blocks) {
  const std::size_t a = kShape.transposed ? g.k * padded(g.m) : 0;
  const std::size_t planes = plan.parts > 1 ? plan.parts * (g.m * padded(g.n)) : 0;
  const std::size_t tiles = plan.share ? blocks * kShape.block_rows() * kShape.block_cols() : 0;
  return workspace(a, 0, std::max(planes, tiles), blocks);
}

/// C = alpha A B + beta C with this tile and this schedule.
template <class Tile, class Schedule>
void run(const Call& call, const Plan& plan) {
  constexpr Shape kShape = Tile::kShape;
  const General g = general<mem<float>>(call);
  if (g.k == 0) return scale(call, g);
  const std::size_t blocks = call.launch.grid.x;
  const Workspace& space = workspace_of<kShape>(g, plan, blocks);
  if (kShape.transposed) transpose(call, g.a, space.a, padded(g.m));
  Product product{.c = g.c,
                  .m = g.m,
                  .n = g.n,
                  .k = g.k,
                  .ldc = static_cast<int>(g.ldc),
                  .alpha = g.alpha,
                  .beta = g.beta,
                  .quads = g.c_quads,
                  .parts = plan.parts,
                  .share = plan.share,
                  .partials = reinterpret_cast<mem<float>*>(space.partials),
                  .flags = space.flags,
                  .epoch = space.epoch};
  if (plan.parts > 1) {
    product.c = product.partials, product.ldc = static_cast<int>(padded(g.n)), product.quads = true, product.beta = 0;
  }
  const LaunchNeeds needs{.early = true, .blocks_wait = plan.share};
  const bool a_quads = kShape.transposed || g.a.quads;
  if (a_quads && g.b.quads)
    launch_with(needs, call, matmul_hopper<Tile, Schedule, CUtensorMap>, map_of_a<kShape>(g, space.a),
                map_of_b<kShape>(g), product);
  else
    launch_with(needs, call, matmul_hopper<Tile, Schedule, AnyMatrix>,
                AnyMatrix{a_quads ? map_of_a<kShape>(g, space.a) : CUtensorMap{}, g.a},
                AnyMatrix{g.b.quads ? map_of_b<kShape>(g) : CUtensorMap{}, g.b}, product);
  if (plan.parts > 1) add_planes(call, g, space.partials, plan.parts);
}

}  // namespace RUNG_BUILD
}  // namespace rung::hopper
