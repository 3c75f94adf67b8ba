/// Temporal blocking: several steps between one read and one write of the field, all of them in registers. A warp
/// streams down a strip of columns. The first level of a pipeline computes, from each row that enters, the row above it
/// one time step later and passes that on to the next level; each of the `depth` levels keeps one row and the partial
/// sums that the next row completes. DRAM traffic per step falls by almost the depth, so the kernel far exceeds the
/// bound of one step per pass, until instruction issue limits it.
///
/// The outer columns of a strip become invalid, one more per level, so strips overlap. The rows are divided into parts,
/// so that every multiprocessor has enough warps; these overlap as well. Rows are prefetched by asynchronous copies
/// into a ring in shared memory. Results go through the same ring, so that a lane's neighbouring columns become
/// coalesced stores. The boundary costs no test: the outer lanes of a strip at the edge take zero from beyond it, and
/// above and below the field continues as its own mirror image with the opposite sign, which keeps the edge at zero.
///
/// Source: Matsumura et al. 2020 (AN5D); Zhang et al. 2023 (EBISU).
#include <algorithm>
#include <cmath>

#include "common/machine/device_facts.hpp"
#include "gpu/heat/register_tile.hpp"

namespace rung {
namespace {

using Depths = Choices<12, 10, 8, 6, 4>;
using Columns = Choices<8, 4>;

constexpr int kSlots = 6;          // pairs of rows that the ring holds
constexpr int kRowsOfOneStep = 2;  // of the register tile, for the remaining steps

/// A warp's columns: Columns neighbouring ones per lane. The outer kHalo columns on each side become invalid.
template <int Depth, int Columns>
struct Strip {
  static constexpr int kWidth = 32 * Columns;
  static constexpr int kHalo = (Depth + 3) / 4 * 4;  // whole float4s
  static constexpr int kFresh = kWidth - 2 * kHalo;
  static constexpr int kRingFloats = kSlots * 2 * kWidth;
  /// Resident warps that the registers of a multiprocessor's four partitions allow: each level needs two rows.
  static constexpr int kWarps = 512 / (2 * Depth * Columns + 4 * Columns + 24) * 4;
};

/// The field, and how a sweep over it is divided: strips side by side, parts of the rows one below the other.
struct Sweep {
  int rows, cols;
  float ratio;  ///< a cell's weight over a neighbour's: a level's only factor
  float scale;  ///< a neighbour's weight to the power of the depth, applied at the end
  int strips, part_rows;
};

/// The place of an element of a row in the ring: swizzled, so that lanes that read every other float4 use all banks.
template <int Columns>
__device__ __forceinline__ int place(int i) {
  return Columns == 8 ? i ^ (i >> 5 & 1) << 2 : i;
}

/// The row of the field that `row` is or, above and below the field, mirrors. `sign`: the factor for its cells.
__device__ __forceinline__ int mirrored(int row, int rows, float& sign) {
  sign = 1;
  if (static_cast<unsigned>(row) < static_cast<unsigned>(rows)) return row;
  sign = row == -1 || row == rows ? 0.0f : -1.0f;
  return row < 0 ? max(-2 - row, 0) : min(2 * rows - row, rows - 1);
}

/// Starts the copies of a strip's row into the ring, of Elements each; `from`: the first element that this lane copies.
template <int Columns, int Elements>
__device__ __forceinline__ void fetch_row(mem<float>* to, const mem<float>* from, int lane) {
#pragma unroll
  for (int i = 0; i < Columns / Elements; ++i)
    __pipeline_memcpy_async(to + place<Columns>((i * 32 + lane) * Elements), from + i * 32 * Elements, 4 * Elements);
}

/// The lane's columns of a row in the ring.
template <int Columns>
__device__ __forceinline__ void take_row(const mem<float>* from, int lane, float sign, reg<float> (&v)[Columns]) {
#pragma unroll
  for (int c = 0; c < Columns; c += 4) {
    const float4 quad = *vector_cast<float4>(from + place<Columns>(lane * Columns + c));
    v[c] = quad.x;
    v[c + 1] = quad.y;
    v[c + 2] = quad.z;
    v[c + 3] = quad.w;
  }
  if (sign == 1) return;
#pragma unroll
  for (int c = 0; c < Columns; ++c) v[c] = sign * v[c];
}

/// Stores columns [from, to) of the strip's row, staged in a row of the ring; `out`: where this lane stores first.
template <int Columns, int Elements>
__device__ __forceinline__ void put_row(mem<float>* out, mem<float>* stage, int lane, int from, int to, float scale,
                                        const reg<float> (&v)[Columns]) {
#pragma unroll
  for (int c = 0; c < Columns; c += 4)
    *vector_cast<float4>(stage + place<Columns>(lane * Columns + c)) =
        make_float4(scale * v[c], scale * v[c + 1], scale * v[c + 2], scale * v[c + 3]);
  __syncwarp();  // the staged row is complete before lanes read what others wrote
#pragma unroll
  for (int i = 0; i < Columns / Elements; ++i) {
    const int element = (i * 32 + lane) * Elements;
    if (element < from || element >= to) continue;
    if constexpr (Elements == 4)
      *vector_cast<float4>(out + i * 128) = *vector_cast<float4>(stage + place<Columns>(element));
    else
      out[i * 32] = stage[place<Columns>(element)];
  }
}

/// One level: takes the next row in `v`, and returns in `v` the row above it one time step later. It keeps the row in
/// `last`, and in `sum` the next result without its southern neighbour. `west`, `east`: 0 in the strip's outer lanes,
/// else 1.
template <int Columns>
__device__ __forceinline__ void advance(reg<float> (&v)[Columns], reg<float> (&last)[Columns],
                                        reg<float> (&sum)[Columns], float ratio, float west, float east) {
  const reg<float> left = __shfl_up_sync(~0u, v[Columns - 1], 1);
  const reg<float> right = __shfl_down_sync(~0u, v[0], 1);
  reg<float> next[Columns];
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    next[c] = sum[c] + v[c];
    sum[c] = ratio * v[c] + last[c];
  }
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    if (c > 0) sum[c] = sum[c] + v[c - 1];
    if (c < Columns - 1) sum[c] = sum[c] + v[c + 1];
  }
  sum[0] = west * left + sum[0];
  sum[Columns - 1] = east * right + sum[Columns - 1];
#pragma unroll
  for (int c = 0; c < Columns; ++c) {
    last[c] = v[c];
    v[c] = next[c];
  }
}

/// Elements per copy and store: 4, or 1 where rows do not begin at multiples of 16 bytes.
template <int Depth, int Columns, int Elements>
__global__ void __launch_bounds__(32, (Strip<Depth, Columns>::kWarps))
    heat_temporal(const mem<float>* u, mem<float>* next, Sweep s) {
  using Own = Strip<Depth, Columns>;
  __shared__ __align__(16) mem<float> ring[Own::kRingFloats];
  const int lane = threadIdx.x;
  const int strip = blockIdx.x % s.strips;
  const int wanted = strip * Own::kFresh;  // the last strip begins earlier, to end with the field
  const int begin = max(0, min(wanted, s.cols - Own::kWidth));
  const int put_from = strip == 0 ? 0 : wanted + Own::kHalo - begin;  // relative to `begin`
  const int put_to = strip == s.strips - 1 ? s.cols - begin : wanted + Own::kFresh + Own::kHalo - begin;
  const int first_row = blockIdx.x / s.strips * s.part_rows, last_row = min(s.rows, first_row + s.part_rows);
  const int end = last_row + Depth;
  const float west = lane == 0 ? 0.0f : 1.0f, east = lane == 31 ? 0.0f : 1.0f;

  const mem<float>* const lane_from = u + (begin + lane * Elements);
  mem<float>* const lane_to = next + (begin + lane * Elements);
  const auto at = [&](int slot, int r) { return ring + (slot * 2 + r) * Own::kWidth; };
  const auto fetch = [&](int row, int slot) {  // this row and the one below it
    if (row < end) {
#pragma unroll
      for (int r = 0; r < 2; ++r) {
        float sign;
        fetch_row<Columns, Elements>(at(slot, r), lane_from + mirrored(row + r, s.rows, sign) * s.cols, lane);
      }
    }
    __pipeline_commit();
  };
  const auto take = [&](int slot, int r, int row, reg<float>(&v)[Columns]) {
    float sign;
    mirrored(row, s.rows, sign);
    take_row<Columns>(at(slot, r), lane, sign, v);
  };
  const auto put = [&](int slot, int r, int row, const reg<float>(&v)[Columns]) {
    if (row < first_row || row >= last_row) return;
    put_row<Columns, Elements>(lane_to + row * s.cols, at(slot, r), lane, put_from, put_to, s.scale, v);
  };

  reg<float> last[Depth][Columns], sum[Depth][Columns];
#pragma unroll
  for (int t = 0; t < Depth; ++t)
#pragma unroll
    for (int c = 0; c < Columns; ++c) {
      last[t][c] = 0;
      sum[t][c] = 0;
    }
  int row = first_row - Depth;
#pragma unroll
  for (int slot = 0; slot < kSlots - 1; ++slot) fetch(row + 2 * slot, slot);
  int slot = 0;
#pragma unroll 1
  for (; row < end; row += 2) {
    __pipeline_wait_prior(kSlots - 2);
    __syncwarp();  // all lanes' copies have arrived, and no lane still uses the slot that is filled next
    reg<float> upper[Columns], lower[Columns];
    take(slot, 0, row, upper);
    take(slot, 1, row + 1, lower);
    fetch(row + 2 * (kSlots - 1), slot == 0 ? kSlots - 1 : slot - 1);
    advance(upper, last[0], sum[0], s.ratio, west, east);
#pragma unroll
    for (int t = 1; t < Depth; ++t) {  // the lower row is a level behind: two independent chains of instructions
      advance(upper, last[t], sum[t], s.ratio, west, east);
      advance(lower, last[t - 1], sum[t - 1], s.ratio, west, east);
    }
    advance(lower, last[Depth - 1], sum[Depth - 1], s.ratio, west, east);
    put(slot, 0, row - Depth, upper);
    put(slot, 1, row + 1 - Depth, lower);
    slot = slot == kSlots - 1 ? 0 : slot + 1;
  }
}

// ---- How a sweep is divided ----

/// The properties of the kernel with these tunables that the host needs.
struct Shape {
  int depth, width, fresh, warps;
};

/// Calls use(depth, columns) with the tunables' values as constants.
template <typename Use>
void with_tunables_of(const Params& p, const Use& use) {
  Depths::pick(p.at("depth"),
               [&](auto depth) { Columns::pick(p.at("columns"), [&](auto columns) { use(depth, columns); }); });
}

Shape shape_of(const Params& p) {
  Shape shape{};
  with_tunables_of(p, [&](auto depth, auto columns) {
    using Own = Strip<depth, columns>;
    shape = {depth, Own::kWidth, Own::kFresh, Own::kWarps};
  });
  return shape;
}

int strips_of(const Params& p, const Shape& shape) {
  const int cols = static_cast<int>(p.at("n"));
  return cols <= shape.width ? 1 : 1 + (cols - shape.width + shape.fresh - 1) / shape.fresh;
}

/// Rows per part, chosen so that the sweep ends earliest: a warp takes time for its rows and the overlap above and
/// below, and all warps that fit run at once; more parts fill the last wave better but overlap more.
int part_rows(const Params& p, const Shape& shape) {
  constexpr int kMostWaves = 8;
  const int rows = static_cast<int>(p.at("m")), strips = strips_of(p, shape);
  const int at_once = gpu_facts().sm_count * shape.warps;
  int best = rows;
  double least = HUGE_VAL;
  for (int parts = 1; parts <= rows && strips * (parts - 1) < kMostWaves * at_once; ++parts) {
    const int waves = (strips * parts + at_once - 1) / at_once, own = (rows + parts - 1) / parts;
    const double cost = static_cast<double>(waves) * (own + 2 * shape.depth);
    if (cost < least) {
      least = cost;
      best = own;
    }
  }
  return best;
}

int sweeps_of(const Params& p) { return heat_steps(p) / static_cast<int>(p.at("depth")); }
int single_steps_of(const Params& p) { return heat_steps(p) % static_cast<int>(p.at("depth")); }

Launch sweep_launch(const Params& p) {
  const Shape shape = shape_of(p);
  return {{strips_of(p, shape) * blocks_for(p.at("m"), part_rows(p, shape))}, {32}};
}

/// Each part loads its rows and the overlap above and below, in pairs, over the whole width of the strips.
Traffic traffic(const Params& p) {
  const Shape shape = shape_of(p);
  const std::int64_t rows = p.at("m"), own = part_rows(p, shape);
  double loaded = 0;
  for (std::int64_t first = 0; first < rows; first += own)
    loaded += static_cast<double>((std::min(own, rows - first) + 2 * shape.depth + 1) / 2 * 2);
  loaded *= static_cast<double>(strips_of(p, shape)) * shape.width * sweeps_of(p);
  loaded += register_tile_loads(p, kRowsOfOneStep) * single_steps_of(p);
  return {.loaded = 4 * loaded, .stored = 4 * heat_cells(p) * (sweeps_of(p) + single_steps_of(p))};
}

std::string refuse(const Params& p) {
  const Shape shape = shape_of(p);
  if (sweeps_of(p) == 0) return "makes " + std::to_string(shape.depth) + " steps at a time: give at least that number";
  if (p.at("n") >= shape.width && p.at("m") >= shape.depth) return "";
  return "takes fields of at least " + std::to_string(shape.width) + " columns and " + std::to_string(shape.depth) +
         " rows: gpu/heat/register_tile takes any";
}

void run(const Call& call) {
  const Params& p = call.params;
  const HeatGrid grid = heat_grid(p);
  const Shape shape = shape_of(p);
  const Sweep sweep{.rows = grid.rows,
                    .cols = grid.cols,
                    .ratio = grid.centre / grid.side,
                    .scale = static_cast<float>(std::pow(static_cast<double>(grid.side), shape.depth)),
                    .strips = strips_of(p, shape),
                    .part_rows = part_rows(p, shape)};
  Call single = call;
  single.launch = register_tile_launch(p, kRowsOfOneStep);
  take_turns<mem<float>>(call, sweeps_of(p) + single_steps_of(p), [&](const mem<float>* from, mem<float>* to, int i) {
    if (i >= sweeps_of(p)) return launch(single, register_tile<kRowsOfOneStep>(p), from, to, grid);
    with_tunables_of(p, [&](auto depth, auto columns) {
      launch(call, has_quads(p) ? heat_temporal<depth, columns, 4> : heat_temporal<depth, columns, 1>, from, to, sweep);
    });
  });
}

const bool added = add_gpu_kernel({
    .name = "gpu/heat/temporal",
    .order = 40,
    .title = "temporal blocking",
    .idea = "A warp takes a strip of the field through several steps in registers between one read and one write.",
    .source = {{"matsumura2020"}, {"zhang2023"}},
    .tunables = {{"depth", Depths::values()}, {"columns", Columns::values()}},
    .refuse = refuse,
    .scratch = [](const Params& p) { return heat_scratch(p, sweeps_of(p) + single_steps_of(p)); },
    .gpu =
        {
            .min_compute_capability = 80,
            .launch = sweep_launch,
            .requested = traffic,
        },
    .run = run,
});

}  // namespace
}  // namespace rung
