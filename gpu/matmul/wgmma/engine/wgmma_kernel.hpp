/// The kernel of the rungs that multiply with wgmma. For files compiled for sm_90a, and for the emulator.
///
/// Each stage of the ring has two mbarriers: a phase of `full` ends when TMA has written both tiles, a phase of `empty`
/// when every multiplying warp has read them. Each box from which TMA stores sums has two as well (Boxes).
#pragma once

#include "gpu/host/tensor_map.hpp"
#include "gpu/host/workspace.hpp"
#include "gpu/matmul/accuracy/split_terms.hpp"
#include "gpu/matmul/wgmma/engine/wgmma_prepare.hpp"
#include "gpu/simt/hopper_ptx.hpp"
#include "gpu/simt/launch_together.hpp"
#include "gpu/simt/wgmma_ptx.hpp"

namespace rung::wgmma {
inline namespace RUNG_BUILD {

using namespace hopper;

/// C and its size, how it is stored, and where partial sums are kept.
template <typename Element>
struct Output {
  mem<Element>* c;
  std::int64_t ldc;
  int m, n, k;  // k is 0 where alpha is
  Element alpha, beta;
  bool by_tma;           // is_plain, and TMA can write C
  bool is_plain;         // alpha is 1 and beta 0, n is even, and C's rows begin at multiples of 8 bytes
  int group_rows;        // rows of tiles, or of pairs of tiles, in a group; tiles are taken group by group
  int tail_parts;        // parts along k of a tile of the last, partial wave
  mem<float>* partials;  // a tile of sums for each part
  unsigned* flags;       // one for each warpgroup's share of these sums; equal to epoch once it is written
  unsigned epoch;
  const mem<unsigned>* range;  // of numbers in terms (TermRange), or null
  bool if_unfit;               // whether C is computed if FP16 does not hold the terms, or if it does
};

/// A piece of work of a block: some steps in k of a tile of C.
struct Piece {
  hopper::Place place;
  int tile = 0, first = 0, count = 0;
  int b_ahead = 0;         // how many steps further along its rows B is read than A
  bool ends_tile = true;   // with the sums of this piece the tile is complete
  int part = 0;            // of a tile of the tail
  bool backwards = false;  // loaded from the last step to the first
};

/// The pieces of a block, one after the other. The blocks of a cluster have tiles one below the other, or the same tile
/// with different parts of k.
template <Shape kShape>
struct Pieces {
  int rows, cols, group_rows, steps;  // in tiles of a cluster; a tile's steps in k
  int clusters, rank, part;           // this block's index among those that load B together; its part of k
  int dense, tile;                    // tiles in full waves; the next tile
  int tail = 0, tail_parts = 1;       // the tiles after these, and their parts along k

  template <typename Element>
  __device__ Pieces(const Output<Element>& out, int block)
      : rows((out.m + kShape.rows() * kShape.cluster - 1) / (kShape.rows() * kShape.cluster)),
        cols((out.n + kShape.cols - 1) / kShape.cols),
        group_rows(out.group_rows),
        steps((out.k + kShape.depth() - 1) / kShape.depth()),
        clusters(gridDim.x / kShape.cluster_blocks()),
        rank(block % kShape.cluster),
        part(block / kShape.cluster),
        dense(rows * cols),
        tile(blockIdx.x / kShape.cluster_blocks()) {
    if constexpr (kShape.splits_tail) {
      if (out.tail_parts > 1) dense -= dense % clusters, tail = rows * cols - dense, tail_parts = out.tail_parts;
    }
  }
  /// The parts of the tail follow the tiles, as if they were tiles, too: the first part of each, then the second ones.
  __device__ bool next(Piece& piece) {
    if (tile < dense) {
      const int first = steps * part / kShape.parts;
      piece = {{}, tile, first, steps * (part + 1) / kShape.parts - first};
      // Every other wave begins with the steps with which the previous wave ended: they are still in L2, so DRAM is
      // read less. Numbers in several terms keep their order: the second terms' step precedes the first.
      piece.backwards = kShape.persistent && kShape.terms == 1 && tile / clusters % 2 != 0;
      tile = kShape.persistent ? tile + clusters : dense;
    } else {
      if (!kShape.splits_tail || tile >= dense + tail * tail_parts) return false;
      const int of_tail = (tile - dense) / tail, first = steps * of_tail / tail_parts;
      piece = {{}, tile - of_tail * tail, first, steps * (of_tail + 1) / tail_parts - first};
      piece.ends_tile = false;
      piece.part = of_tail;
      tile += clusters;
    }
    piece.place = grouped_place(piece.tile, rows, cols, group_rows);
    piece.place.row = piece.place.row * kShape.cluster + rank;
    return true;
  }
  /// The index of the partial sums of a part of a tile of the tail.
  __device__ int partial_place(const Piece& piece, int of_part) const {
    return (of_part * tail + piece.tile - dense) * kShape.cluster + rank;
  }
};

/// One thread issues all loads. `sharers`: the blocks that load B together, one bit per block.
template <Shape kShape, class Pieces>
__device__ __forceinline__ void load_tiles(const CUtensorMap* map_a, const CUtensorMap* map_b, std::uint32_t tiles_at,
                                           std::uint32_t full, std::uint32_t empty, Pieces pieces,
                                           std::uint16_t sharers) {
  int stage = 0;
  std::uint32_t phase = 1;  // all stages are empty at first
  Piece piece;
  while (pieces.next(piece)) {
    const int row = piece.place.row * kShape.rows(), col = piece.place.col * kShape.cols;
#pragma unroll 1
    for (int i = 0; i < piece.count; ++i) {
      const int step = piece.first + (piece.backwards ? piece.count - 1 - i : i);
      const std::uint32_t a_at = tiles_at + stage * kShape.stage_bytes(), b_at = a_at + kShape.a_bytes();
      const std::uint32_t barrier = full + stage * 8;
      barrier_wait(empty + stage * 8, phase);
      if (elect_one()) {
        barrier_expect(barrier, kShape.stage_bytes());
        constexpr int kDepth = kShape.depth(), kBoxRows = kShape.box_rows(), kNumbers = kShape.row_numbers();
        if constexpr (kShape.a_by_columns()) {
#pragma unroll
          for (int box = 0; box < kShape.groups; ++box)
            tma_load(a_at + box * kBoxCols * kStepBytes, map_a, barrier, row + box * kBoxCols, step * kDepth);
        } else {
          tma_load(a_at, map_a, barrier, step * kNumbers, row);
        }
        const auto load_b = [&](int to, int x, int y) {
          if constexpr (kShape.cluster > 1)
            tma_multicast(b_at + to, map_b, barrier, x, y, sharers);
          else
            tma_load(b_at + to, map_b, barrier, x, y);
        };
        if constexpr (kShape.b_by_columns()) {
          const int first = pieces.rank * kBoxRows;  // of the columns that this block loads
          load_b(first * kStepBytes, (step + piece.b_ahead) * kNumbers, col + first);
        } else {
          constexpr int kLoads = kShape.boxes() * (kDepth / kBoxRows) / kShape.cluster;  // of B, by this block
#pragma unroll
          for (int i = 0; i < kLoads; ++i) {
            const int load = pieces.rank * kLoads + i, box = load % kShape.boxes(),
                      k = load / kShape.boxes() * kBoxRows;
            load_b((box * kDepth + k) * kStepBytes, col + box * kBoxCols, step * kDepth + k);
          }
        }
      }
      if (++stage == kShape.stages) stage = 0, phase ^= 1;
    }
  }
}

/// A thread's first row in a warpgroup's part of a tile, and its first column. It has pairs of columns, 8 apart, in
/// this row and in the 8th row below: sum[4 j + 2 half] and the next one.
__device__ __forceinline__ int first_row_of_thread() { return threadIdx.x % 128 / 32 * 16 + threadIdx.x % 32 / 4; }
__device__ __forceinline__ int first_col_of_thread() { return threadIdx.x % 4 * 2; }

__device__ __forceinline__ float2 pair_of(reg<float> x, reg<float> y) { return make_float2(x, y); }
__device__ __forceinline__ int2 pair_of(int x, int y) { return make_int2(x, y); }

/// Undoes the scaling of A and B by powers of two. One factor after the other: their product may overflow.
template <int kCols>
__device__ __forceinline__ void scale_sums(const mem<unsigned>* range, reg<float> (&sum)[kCols / 2]) {
  const reg<float> of_a = __uint_as_float(__ldcg(range + kFactorOfA)),
                   of_b = __uint_as_float(__ldcg(range + kFactorOfB));
#pragma unroll
  for (auto& one : sum) one = one * of_a * of_b;
}

/// Stores a thread's elements of a warpgroup's 64 rows of C, as the first to be evicted from L2: they are not read
/// again.
template <int kCols, typename Element>
__device__ __forceinline__ void store_sums(const Output<Element>& out, int first_row, int first_col,
                                           const reg<Element> (&sum)[kCols / 2]) {
  const int row = first_row + first_row_of_thread(), col = first_col + first_col_of_thread(), left = out.n - col;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int y = row + 8 * half;
    if (y >= out.m) continue;
    mem<Element>* to = out.c + y * out.ldc + col;
#pragma unroll
    for (int j = 0; j < kCols / 8; ++j)
      if (8 * j < left) {
        const auto pair = pair_of(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]);
        __stcs(vector_cast<decltype(pair_of(reg<Element>{}, reg<Element>{}))>(to + 8 * j), pair);
      }
  }
}

/// The boxes in shared memory from which TMA stores a warpgroup's sums, and the next box. A phase of `written` ends
/// when the four warps have written a box, a phase of `read` when TMA has read it.
struct Boxes {
  std::uint32_t at, written, read;
  int next = 0;
  std::uint32_t phase = 0;

  template <int kCount>
  __device__ void advance() {
    if (++next == kCount) next = 0, phase ^= 1;
  }
  __device__ std::uint32_t address() const { return at + next * kStoreBytes; }
};

/// Writes the same elements into boxes of 32 columns, in the order of TMA's swizzle, from which TMA stores them in rows
/// of 128 bytes. TMA is slower than a warp that issues stores, so another warp issues them (store_boxes), and this one
/// continues once there is room for its last box.
template <int kBoxes, typename Register, int kSums>
__device__ __forceinline__ void stage_sums(Boxes& boxes, const Register (&sum)[kSums]) {
  const int lane = threadIdx.x % 32, row = lane / 4;
#pragma unroll
  for (int box = 0; box < 2 * kSums / kStoredCols; ++box) {
    barrier_wait(boxes.read + boxes.next * 8, boxes.phase ^ 1);
    const std::uint32_t rows = boxes.address() + (threadIdx.x % 128 / 32 * 16 + row) * 128 + lane % 2 * 8;
#pragma unroll
    for (int i = 0; i < kStoredCols / 8; ++i) {
      // Four rows are written together, and with the swizzle alone two of them are in the same banks: so odd rows write
      // their columns in another order.
      const auto pair = [&](int group, int half) {
        const int j = box * (kStoredCols / 8) + group;
        return pair_of(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]);
      };
      const bool is_odd = row % 2 != 0;
      const std::uint32_t to = rows + ((2 * (is_odd ? i ^ 2 : i) + lane % 4 / 2) ^ row) * 16;
#pragma unroll
      for (int half = 0; half < 2; ++half)
        write_shared_pair(to + half * 8 * 128, is_odd ? pair(i ^ 2, half) : pair(i, half));
    }
    publish_to_tma();
    __syncwarp();
    if (lane == 0) barrier_arrive(boxes.written + boxes.next * 8);
    boxes.advance<kBoxes>();
  }
}

/// Has TMA store the boxes that a warpgroup writes. Called by one warp; the same thread of it issues all stores.
template <Shape kShape, class Pieces>
__device__ __forceinline__ void store_boxes(const CUtensorMap* map_c, Boxes boxes, Pieces pieces, int group) {
  bool is_full = false;  // all boxes have been used
  const bool is_storing = elect_one();
  Piece piece;
  while (pieces.next(piece)) {
    if (!piece.ends_tile) continue;
    const int row = piece.place.row * kShape.rows() + group * kRowsOfGroup, col = piece.place.col * kShape.cols;
#pragma unroll 1
    for (int box = 0; box < kShape.cols / kStoredCols; ++box) {
      barrier_wait(boxes.written + boxes.next * 8, boxes.phase);
      if (is_storing) tma_store(map_c, boxes.address(), col + box * kStoredCols, row);
      boxes.advance<kShape.staged>();
      is_full = is_full || boxes.next == 0;
      if (is_storing && is_full) {
        tma_store_wait<kShape.staged - 1>();  // the box that was stored first has been read
        barrier_arrive(boxes.read + boxes.next * 8);
      }
    }
  }
  if (is_storing) tma_store_wait<0>();  // shared memory must remain until TMA has read all
}

/// Stores an element, with the factors applied.
template <typename Element>
__device__ __forceinline__ void store_any(const Output<Element>& out, mem<Element>* to, reg<Element> sum) {
  const reg<Element> product = out.alpha * sum;
  *to = out.beta == 0 ? product : product + out.beta * *to;
}

/// Stores two elements of a row, if they are inside C.
template <typename Element>
__device__ __forceinline__ void store_pair(const Output<Element>& out, int row, int col, reg<Element> x,
                                           reg<Element> y) {
  if (row >= out.m || col >= out.n) return;
  mem<Element>* to = out.c + row * out.ldc + col;
  if (out.is_plain) {
    const auto pair = pair_of(x, y);
    __stcs(vector_cast<decltype(pair_of(x, y))>(to), pair);
  } else {
    store_any(out, to, x);
    if (col + 1 < out.n) store_any(out, to + 1, y);
  }
}

/// As store_sums(), with factors, for any n and any alignment of C.
template <int kCols, typename Element>
__device__ __forceinline__ void store_any_sums(const Output<Element>& out, int first_row, int first_col,
                                               const reg<Element> (&sum)[kCols / 2]) {
  const int row = first_row + first_row_of_thread(), col = first_col + first_col_of_thread(), left = out.n - col;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int y = row + 8 * half;
    if (y >= out.m) continue;
    mem<Element>* to = out.c + y * out.ldc + col;
#pragma unroll
    for (int j = 0; j < kCols / 8; ++j)
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        if (8 * j + e < left) store_any(out, to + 8 * j + e, sum[4 * j + 2 * half + e]);
      }
  }
}

/// Writes a warpgroup's partial sums over the ring, after its last tiles have been multiplied.
template <Shape kShape>
__device__ __forceinline__ void leave_partial(std::uint32_t partial, int group,
                                              const reg<float> (&sum)[kShape.cols / 2]) {
  __syncwarp();
  named_barrier<1, kShape.groups * 128>();  // all warpgroups have read the ring
  const int row = group * kRowsOfGroup + first_row_of_thread();
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t line = partial + ((row + 8 * half) * kShape.partial_pitch() + first_col_of_thread()) * 4;
#pragma unroll
    for (int j = 0; j < kShape.cols / 8; ++j)
      write_shared_pair(line + 32 * j, make_float2(sum[4 * j + 2 * half], sum[4 * j + 2 * half + 1]));
  }
}

/// Adds the partial sums in this block's share of a tile's rows, part after part, so that results are reproducible. The
/// blocks of the parts are `cluster` apart, beginning with `rank`.
template <Shape kShape>
__device__ __forceinline__ void add_partials(const Output<float>& out, std::uint32_t partial, int first_row,
                                             int first_col, int part, int rank) {
  constexpr int kThreads = kShape.groups * 128, kRows = kShape.rows() / kShape.parts, kQuadsOfRow = kShape.cols / 4;
  constexpr int kQuads = kRows * kQuadsOfRow / kThreads;  // of a thread
  const auto row = [&](int i) { return part * kRows + (i * kThreads + static_cast<int>(threadIdx.x)) / kQuadsOfRow; };
  const int col = threadIdx.x % kQuadsOfRow * 4;  // in every row
  static_assert(kThreads % kQuadsOfRow == 0);
  if (first_col + col >= out.n) return;
  // Only values that are added are read. A block may end when all have passed the next barrier, and a load whose value
  // is not used could still be in flight to it.
  const auto is_inside = [&](int i) { return first_row + row(i) < out.m; };
  float4 of[kQuads][kShape.parts];  // all in flight before the first is added
#pragma unroll
  for (int p = 0; p < kShape.parts; ++p) {
    const std::uint32_t there = address_in(p * kShape.cluster + rank, partial);
#pragma unroll
    for (int i = 0; i < kQuads; ++i)
      if (is_inside(i)) of[i][p] = read_cluster(there + (row(i) * kShape.partial_pitch() + col) * 4);
  }
#pragma unroll
  for (int i = 0; i < kQuads; ++i) {
    if (!is_inside(i)) continue;
    float4 sum = of[i][0];
#pragma unroll
    for (int p = 1; p < kShape.parts; ++p)
      sum.x += of[i][p].x, sum.y += of[i][p].y, sum.z += of[i][p].z, sum.w += of[i][p].w;
    __stcs(vector_cast<float4>(out.c + (first_row + row(i)) * out.ldc + first_col + col), sum);
  }
}

/// A thread's first float4 of the partial sums that a warpgroup leaves in memory, where its threads' float4s are
/// interleaved.
template <Shape kShape>
__device__ __forceinline__ mem<float4>* partial_of_group(const Output<float>& out, int place, int group) {
  constexpr int kQuads = kRowsOfGroup * kShape.cols / 4;
  return vector_cast<float4>(out.partials) + std::size_t(place * kShape.groups + group) * kQuads + threadIdx.x % 128;
}

/// Adds the sums of all parts of a tile of the tail, in their order, and stores them: a thread's pairs of columns from
/// `first` to `end`, kTogether at a time, which keeps enough loads in flight.
template <Shape kShape, int kTogether>
__device__ __forceinline__ void add_parts(const Output<float>& out, const Pieces<kShape>& pieces,
                                          const mem<float4>* from, int row, int col, int first, int end) {
  const std::size_t next_part = std::size_t(pieces.tail) * kShape.cluster * kShape.rows() * kShape.cols / 4;
  for (; first < end; first += kTogether) {
    float4 total[kTogether] = {};
#pragma unroll 4
    for (int part = 0; part < pieces.tail_parts; ++part)
#pragma unroll
      for (int i = 0; i < kTogether; ++i) {
        const float4 quad = __ldcg(from + part * next_part + min(first + i, end - 1) * 128);
        total[i].x += quad.x, total[i].y += quad.y, total[i].z += quad.z, total[i].w += quad.w;
      }
#pragma unroll
    for (int i = 0; i < kTogether; ++i) {
      if (first + i >= end) continue;
      store_pair(out, row, col + 8 * (first + i), total[i].x, total[i].y);
      store_pair(out, row + 8, col + 8 * (first + i), total[i].z, total[i].w);
    }
  }
}

/// Completes a tile of the tail: each part's block publishes its sums, waits for the others, and adds and stores a part
/// of the columns. So all blocks work, and sums are added in the order of their parts, which makes results
/// reproducible. All parts are computed at the same time, so the wait terminates.
template <Shape kShape>
__device__ __forceinline__ void store_of_tail(const Output<float>& out, const Pieces<kShape>& pieces,
                                              const Piece& piece, int first_row, int first_col, int group,
                                              const reg<float> (&sum)[kShape.cols / 2]) {
  constexpr int kQuads = kShape.cols / 8;  // per thread: pairs of columns in two rows
  const int parts = pieces.tail_parts, thread = threadIdx.x % 128;
  const auto meet = [&] {
    if (group == 0)
      named_barrier<3, 128>();
    else
      named_barrier<4, 128>();
  };
  const auto flag_of = [&](int part) { return out.flags + pieces.partial_place(piece, part) * kShape.groups + group; };
  mem<float4>* to = partial_of_group<kShape>(out, pieces.partial_place(piece, piece.part), group);
#pragma unroll
  for (int i = 0; i < kQuads; ++i)
    __stcg(to + i * 128, make_float4(sum[4 * i], sum[4 * i + 1], sum[4 * i + 2], sum[4 * i + 3]));
  __threadfence();
  meet();
  if (thread == 0) hopper::release(flag_of(piece.part), out.epoch);
  if (thread < parts)
    while (acquire(flag_of(thread)) != out.epoch) {
    }
  meet();
  const mem<float4>* from = partial_of_group<kShape>(out, pieces.partial_place(piece, 0), group);
  const int row = first_row + first_row_of_thread(), col = first_col + first_col_of_thread();
  const int first = kQuads * piece.part / parts, end = kQuads * (piece.part + 1) / parts;
  if (parts <= 4)
    add_parts<kShape, 8>(out, pieces, from, row, col, first, end);
  else
    add_parts<kShape, 2>(out, pieces, from, row, col, first, end);
}

/// One step of a warpgroup: issues the products of the tiles in a stage, for columns of B from `first_col` on.
template <Type kType, Shape kShape, int kCols>
__device__ __forceinline__ void multiply_stage(std::uint32_t stage_at, int group, int first_col, bool adds,
                                               reg<Sum<kType>> (&sum)[kCols / 2]) {
  const std::uint32_t a_at = stage_at + group * kRowsOfGroup * kStepBytes,
                      b_at = stage_at + kShape.a_bytes() + first_col * kStepBytes;
  wgmma_fence();
  if constexpr (kShape.terms > 1) {
#pragma unroll
    for (int i = 0; i < kShape.instructions(); ++i) {
      const TermProduct of = term_product(kType, kShape.products, i);
      wgmma_64<kType, kCols, false>(sum, tile_descriptor(a_at + of.a * kSliceBytes, 1024, 16),
                                    tile_descriptor(b_at + of.b * kSliceBytes, 1024, 16), adds || i > 0);
    }
  } else {
#pragma unroll
    for (int byte = 0; byte < kStepBytes; byte += kSliceBytes) {  // along k, per instruction
      // If a matrix is not stored by rows of k, the same numbers are rows of 128 bytes.
      const auto tile = [&](std::uint32_t at, bool by_rows_of_k) {
        return by_rows_of_k ? tile_descriptor(at + byte, 1024, 16)
                            : tile_descriptor(at + byte / 2 * kStepBytes, 1024, kStepBytes * kShape.depth());
      };
      wgmma_64<kType, kCols, !kShape.b_by_columns(), kShape.a_by_columns()>(
          sum, tile(a_at, !kShape.a_by_columns()), tile(b_at, kShape.b_by_columns()), adds || byte > 0);
    }
  }
  wgmma_commit();
}

/// Half a window of a warpgroup. The window's 64 numbers along k have their second terms in one stage and their first
/// terms in the next. Issues the products of first and second terms, or else of first terms with each other.
template <Shape kShape, int kCols, bool kOfSecond>
__device__ __forceinline__ void multiply_apart(std::uint32_t first_at, std::uint32_t second_at, int group,
                                               int first_col, reg<float> (&sum)[kCols / 2]) {
  const std::uint32_t a = group * kRowsOfGroup * kStepBytes, b = kShape.a_bytes() + first_col * kStepBytes;
  const auto multiply = [&](std::uint32_t a_at, std::uint32_t b_at, bool adds) {
    wgmma_64<Type::fp16, kCols, false>(sum, tile_descriptor(a_at, 1024, 16), tile_descriptor(b_at, 1024, 16), adds);
  };
  wgmma_fence();
#pragma unroll
  for (int byte = 0; byte < kStepBytes; byte += kSliceBytes) {
    if constexpr (kOfSecond) {
      multiply(second_at + a + byte, first_at + b + byte, byte > 0);
      multiply(first_at + a + byte, second_at + b + byte, true);
    } else {
      multiply(first_at + a + byte, first_at + b + byte, byte > 0);
    }
  }
  wgmma_commit();
}

/// A block's shared memory: the ring, boxes of C, and the mbarriers of both.
template <Shape kShape>
struct Shared {
  std::uint32_t tiles = (shared_address(dynamic_shared<unsigned char>()) + 1023) & ~1023u;
  std::uint32_t staged = tiles + kShape.stages * kShape.stage_bytes();
  std::uint32_t full = staged + kShape.staged_bytes(), empty = full + kShape.stages * 8;
  std::uint32_t written = empty + kShape.stages * 8, read = written + kShape.groups * kShape.staged * 8;

  __device__ void init_barriers() const {
    for (int s = 0; s < kShape.stages; ++s) {
      barrier_init(full + s * 8, 1);
      barrier_init(empty + s * 8, kShape.groups * 4 * kShape.cluster);
    }
    for (int box = 0; box < kShape.groups * kShape.staged; ++box) {
      barrier_init(written + box * 8, 4);
      barrier_init(read + box * 8, 1);
    }
    publish_barriers();
  }
  __device__ Boxes boxes(int group) const {
    const int first = group * kShape.staged;
    return {staged + first * kStoreBytes, written + first * 8, read + first * 8};
  }
};

/// The work of the last warpgroup: its first warp loads tiles, and each other warp has TMA store one warpgroup's sums.
template <Shape kShape, class Pieces>
__device__ __forceinline__ void load_and_store(const CUtensorMap* map_a, const CUtensorMap* map_b,
                                               const CUtensorMap* map_c, const Shared<kShape>& shared,
                                               const Pieces& pieces, int first_sharer, bool stores) {
  const int warp = __shfl_sync(~0u, threadIdx.x % 128 / 32, 0);
  if (warp == 0)
    load_tiles<kShape>(map_a, map_b, shared.tiles, shared.full, shared.empty, pieces,
                       static_cast<std::uint16_t>(((1 << kShape.cluster) - 1) << first_sharer));
  if constexpr (kShape.staged > 0) {
    static_assert(kShape.groups <= 3);
    if (stores && warp > 0 && warp <= kShape.groups)
      store_boxes<kShape>(map_c, shared.boxes(warp - 1), pieces, warp - 1);
  }
}

/// Multiplies a warpgroup's share of each piece, and calls finish(piece, sum) with its sums.
template <Type kType, Shape kShape, class Pieces, class Finish>
__device__ __forceinline__ void multiply(std::uint32_t tiles_at, std::uint32_t full, std::uint32_t empty, Pieces pieces,
                                         int first_sharer, int group, Finish finish) {
  const int lane = threadIdx.x % 32;
  const auto release = [&](int read) {
    if constexpr (kShape.cluster > 1) {
      if (lane < kShape.cluster) barrier_arrive_at(empty + read * 8, first_sharer + lane);
    } else {
      if (lane == 0) barrier_arrive(empty + read * 8);
    }
  };
  const auto advance = [](int& stage, std::uint32_t& phase) {
    if (++stage == kShape.stages) stage = 0, phase ^= 1;
  };
  constexpr int kOfPass = kShape.cols / kShape.passes / 2;  // sums of a thread
  int stage = 0;
  std::uint32_t phase = 0;
  Piece piece;
  reg<Sum<kType>> sum[kShape.cols / 2];
  while (pieces.next(piece)) {
    int previous = -1;
    if constexpr (kShape.parts > 1 || kShape.general) {
      if (kShape.promotes || piece.count == 0)
#pragma unroll
        for (auto& one : sum) one = 0;
    }
    // The first warpgroup must not be two turns ahead. With this many steps it has to wait for a stage that the second
    // one releases.
    const bool takes_turns = piece.ends_tile && piece.count + min(piece.count, kShape.in_turn) > kShape.stages;
#pragma unroll 1
    for (int step = 0; step < piece.count; ++step) {
      if constexpr (kShape.in_turn > 0) {
        if (group == 1 && takes_turns && step == max(piece.count - kShape.in_turn, 0)) {
          wgmma_wait<0>();
          if (previous >= 0) release(previous);
          previous = -1;
          named_barrier<2, 256>();
        }
      }
      barrier_wait(full + stage * 8, phase);
      const std::uint32_t stage_at = tiles_at + stage * kShape.stage_bytes();
      if constexpr (kShape.apart) {
        const int second = stage;
        advance(stage, phase), ++step;
        barrier_wait(full + stage * 8, phase);
        const std::uint32_t first_at = tiles_at + stage * kShape.stage_bytes();
        reg<float> of_window[kOfPass];
#pragma unroll
        for (int pass = 0; pass < kShape.passes; ++pass) {
          multiply_apart<kShape, 2 * kOfPass, true>(first_at, stage_at, group, pass * 2 * kOfPass, of_window);
          wgmma_wait<0>();
          keep_in_order(of_window);
          if (pass == kShape.passes - 1) release(second);
#pragma unroll
          for (int i = 0; i < kOfPass; ++i) {
            auto& one = sum[pass * kOfPass + i];
            one = fmaf(of_window[i], 1 / kSecondFp16, one);
          }
          keep_in_order(sum);
        }
#pragma unroll
        for (int pass = 0; pass < kShape.passes; ++pass) {
          multiply_apart<kShape, 2 * kOfPass, false>(first_at, stage_at, group, pass * 2 * kOfPass, of_window);
          wgmma_wait<0>();
          keep_in_order(of_window);
          if (pass == kShape.passes - 1) release(stage);
#pragma unroll
          for (int i = 0; i < kOfPass; ++i) sum[pass * kOfPass + i] += of_window[i];
          keep_in_order(sum);
        }
      } else if constexpr (kShape.promotes) {
        reg<Sum<kType>> of_step[kOfPass];
#pragma unroll
        for (int pass = 0; pass < kShape.passes; ++pass) {
          multiply_stage<kType, kShape, 2 * kOfPass>(stage_at, group, pass * 2 * kOfPass, false, of_step);
          wgmma_wait<0>();
          keep_in_order(of_step);
          if (pass == kShape.passes - 1) release(stage);
#pragma unroll
          for (int i = 0; i < kOfPass; ++i) sum[pass * kOfPass + i] += of_step[i];
        }
      } else {
        multiply_stage<kType, kShape, kShape.cols>(stage_at, group, 0, step > 0, sum);
        wgmma_wait<1>();  // the previous step has been multiplied
        if (previous >= 0) release(previous);
        previous = stage;
      }
      advance(stage, phase);
    }
    if constexpr (kShape.in_turn > 0)
      if (group == 0 && takes_turns) named_arrive<2, 256>();
    wgmma_wait<0>();
    if (previous >= 0) release(previous);
    finish(piece, sum);
  }
}

/// Registers move from the loading threads to the multiplying ones where these have too few. (The compiler uses them
/// only if a block may have the whole multiprocessor.)
template <Shape kShape>
struct Registers {
  static constexpr int kEven = 65536 / (kShape.threads() * kShape.resident()) / 8 * 8;  // per thread, at the start
  static constexpr bool kMoved = kShape.sums() + 48 > kEven;  // too few for the sums and other values
  static constexpr int kFew = kShape.groups == 2 && kShape.resident() == 1 ? 40 : 24;
  static constexpr int kMost = ((kShape.groups + 1) * kEven - kFew) / kShape.groups / 8 * 8;
  static constexpr int kMany = kMost < 248 ? kMost : 248;
  static_assert(!kMoved || kShape.resident() == 1);
};

template <Type kType, class Tile>
__global__ void __cluster_dims__(Tile::kShape.cluster_blocks(), 1, 1)
    __launch_bounds__(Tile::kShape.threads(), Tile::kShape.resident())
        matmul_wgmma(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                     const __grid_constant__ CUtensorMap map_c, const Output<Sum<kType>> out) {
  constexpr Shape kShape = Tile::kShape;
  constexpr bool kTogether = kShape.cluster_blocks() > 1;
  const Shared<kShape> shared;
  if (threadIdx.x == 0) {
    prefetch_map(&map_a);
    prefetch_map(&map_b);
    shared.init_barriers();
  }
  __syncthreads();
  if constexpr (kTogether) cluster_meeting();  // the other blocks' barriers are initialised, too
  if constexpr (kShape.early) {
    wait_for_previous_kernel();
    allow_next_kernel();
  }
  if constexpr (kShape.terms > 1) {
    // From L2: this block may have begun before the flag was set. All blocks return, or none.
    if (out.range != nullptr && (__ldcg(out.range + kUnfit) != 0) != out.if_unfit) return;
  }
  const int block = kTogether ? block_in_cluster() : 0, first_sharer = block / kShape.cluster * kShape.cluster;
  const int group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  using Registers = wgmma::Registers<kShape>;
  if (group == kShape.groups) {
    if constexpr (Registers::kMoved) fewer_registers<Registers::kFew>();
    load_and_store<kShape>(&map_a, &map_b, &map_c, shared, Pieces<kShape>(out, block), first_sharer, out.by_tma);
    if constexpr (kShape.parts > 1) {
      __syncwarp();
      cluster_barrier();
    }
  } else {
    if constexpr (Registers::kMoved) more_registers<Registers::kMany>();
    const Pieces<kShape> pieces(out, block);
    Boxes boxes = shared.boxes(group);
    multiply<kType, kShape>(shared.tiles, shared.full, shared.empty, pieces, first_sharer, group,
                            [&](const Piece& piece, reg<Sum<kType>>(&sum)[Tile::kShape.cols / 2]) {
                              constexpr Shape kShape = Tile::kShape;
                              const int row = piece.place.row * kShape.rows(), col = piece.place.col * kShape.cols;
                              if constexpr (kShape.apart) {
                                if (out.range != nullptr) scale_sums<kShape.cols>(out.range, sum);
                              }
                              if constexpr (kShape.parts > 1) {
                                leave_partial<kShape>(shared.tiles, group, sum);
                                cluster_barrier();  // all parts are there
                                add_partials<kShape>(out, shared.tiles, row, col, pieces.part, pieces.rank);
                              } else {
                                const int first_row = row + group * kRowsOfGroup;
                                if constexpr (kShape.splits_tail) {
                                  if (!piece.ends_tile)
                                    return store_of_tail<kShape>(out, pieces, piece, first_row, col, group, sum);
                                }
                                if constexpr (kShape.staged > 0) {
                                  if (out.by_tma) return stage_sums<kShape.staged>(boxes, sum);
                                }
                                if (!kShape.general || out.is_plain)
                                  store_sums<kShape.cols>(out, first_row, col, sum);
                                else
                                  store_any_sums<kShape.cols>(out, first_row, col, sum);
                              }
                            });
  }
  if constexpr (kTogether) {
    __syncwarp();
    // No block ends while another one still uses its memory, or while arrivals at its barriers are in flight.
    if constexpr (kShape.cluster > 1)
      cluster_barrier();
    else
      cluster_meeting();
  }
}

constexpr LaunchNeeds needs_of(const Shape& s) {
  return {.early = s.early, .cluster = s.cluster_blocks(), .blocks_wait = s.splits_tail};
}

/// The kernel's argument for C. If TMA can store C, sets by_tma and `c`, from which the tensor map is made.
template <Type kType, Shape kShape, typename Input>
Output<Sum<kType>> output_of(const Call& call, const Matmul<Input, Sum<kType>>& it, BoxedMatrix& c) {
  const bool has_pairs = it.n % 2 == 0 && it.ldc % 2 == 0 && reinterpret_cast<std::uintptr_t>(it.c) % 8 == 0;
  Output<Sum<kType>> out{.c = reinterpret_cast<mem<Sum<kType>>*>(it.c),
                         .ldc = it.ldc,
                         .m = it.m,
                         .n = it.n,
                         .k = it.alpha == 0 ? 0 : it.k,
                         .alpha = static_cast<Sum<kType>>(it.alpha),
                         .beta = static_cast<Sum<kType>>(it.beta),
                         .by_tma = false,
                         .is_plain = it.alpha == 1 && it.beta == 0 && has_pairs,
                         .group_rows = static_cast<int>(call.params.get("group_rows", 8)),
                         .tail_parts = 1,
                         .partials = nullptr,
                         .flags = nullptr,
                         .epoch = 0,
                         .range = nullptr,
                         .if_unfit = false};
  if constexpr (kShape.staged > 0) {
    out.by_tma = out.is_plain && it.ldc % 4 == 0 && reinterpret_cast<std::uintptr_t>(it.c) % 16 == 0;
    if (out.by_tma) {
      c = {.at = it.c, .type = kType == Type::int8 ? Type::int32 : Type::fp32, .cols = it.n, .rows = it.m};
      c.pitch = it.ldc, c.box_cols = kStoredCols, c.box_rows = kRowsOfGroup, c.swizzle = Swizzle::of_128_bytes;
    }
  }
  return out;
}

template <Type kType, class Tile>
void run(const Call& call) {
  constexpr Shape kShape = Tile::kShape;
  constexpr bool kAByColumns = kShape.a_by_columns(), kBByColumns = kShape.b_by_columns();
  static_assert(kShape.terms == 1);
  const auto it = matmul_of<StoredAs<kType>, Sum<kType>>(call, layout_of(call.params, kType));
  const bool a_by_columns = has_a_by_columns(it.layout), b_by_columns = has_b_by_columns(it.layout);
  const auto stored = [](const void* at, bool by_columns, int rows, int cols, std::int64_t pitch) {
    if (by_columns) std::swap(rows, cols);
    BoxedMatrix x{.at = at, .type = kType, .cols = cols, .rows = rows, .pitch = pitch};
    x.swizzle = Swizzle::of_128_bytes;
    return x;
  };
  BoxedMatrix a = stored(it.a, a_by_columns, it.m, it.k, it.lda), b = stored(it.b, b_by_columns, it.k, it.n, it.ldb);
  a.box_cols = kAByColumns ? kBoxCols : kShape.depth(), a.box_rows = kAByColumns ? kShape.depth() : kShape.rows();
  b.box_cols = kBByColumns ? kShape.depth() : kBoxCols, b.box_rows = kShape.box_rows();
  BoxedMatrix c;
  Output<Sum<kType>> out = output_of<kType, kShape>(call, it, c);
  if constexpr (kShape.splits_tail || kShape.general) {
    const Tail tail = tail_of(kShape, matmul_shape(call.params));
    const bool turns_a = a_by_columns != kAByColumns, turns_b = b_by_columns != kBByColumns;
    const std::size_t partials = std::size_t(tail.partial_tiles()) * kShape.cluster;
    const Workspace& space = workspace(floats_of_copy(a, turns_a), floats_of_copy(b, turns_b),
                                       partials * kShape.rows() * kShape.cols, partials * kShape.groups);
    out.tail_parts = out.k > 0 ? tail.parts : 1;
    out.partials = reinterpret_cast<mem<float>*>(space.partials), out.flags = space.flags, out.epoch = space.epoch;
    make_readable<StoredAs<kType>>(call, a, turns_a, space.a);
    make_readable<StoredAs<kType>>(call, b, turns_b, space.b);
  }
  const CUtensorMap map_a = tensor_map(a), map_b = tensor_map(b), map_c = out.by_tma ? tensor_map(c) : map_a;
  launch_with(needs_of(kShape), call, matmul_wgmma<kType, Tile>, map_a, map_b, map_c, out);
}

/// The same for float32 matrices, whose numbers are sums of terms of `kType`. Another kernel first splits them into the
/// two operands after C.
template <Type kType, class Tile>
void run_terms(const Call& call, const TermRange& range = {}) {
  constexpr Shape kShape = Tile::kShape;
  static_assert(kShape.terms == terms_of(kType) && kShape.apart == (kType == Type::fp16) && kShape.general);
  const auto it = matmul_of<float>(call);
  const auto boxed = [&](std::size_t operand, int rows, int box_rows) {
    const int depth = term_depth(kType),
              row_bytes = static_cast<int>(blocks_for(it.k, depth)) * term_block_bytes(kType);
    const int cols = row_bytes / kShape.input_bytes;
    BoxedMatrix x{.at = call.operand<void>(operand), .type = kType, .cols = cols, .rows = rows, .pitch = cols};
    x.box_cols = kShape.row_numbers(), x.box_rows = box_rows, x.swizzle = Swizzle::of_128_bytes;
    return x;
  };
  const BoxedMatrix a = boxed(3, it.m, kShape.rows()), b = boxed(4, it.n, kShape.box_rows());
  BoxedMatrix c;
  Output<float> out = output_of<kType, kShape>(call, it, c);
  const CUtensorMap map_a = tensor_map(a), map_b = tensor_map(b), map_c = out.by_tma ? tensor_map(c) : map_a;
  if (out.k > 0) {
    out.k = static_cast<int>(padded_depth(kType, out.k));
    out.range = range.at, out.if_unfit = range.if_unfit;
    split_into_terms<kType>(call, range);
  }
  launch_with(needs_of(kShape), call, matmul_wgmma<kType, Tile>, map_a, map_b, map_c, out);
}

}  // namespace RUNG_BUILD
}  // namespace rung::wgmma
