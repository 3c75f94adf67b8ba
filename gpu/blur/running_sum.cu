/// A block goes down a strip of columns with the sums of the last 2 R + 1 rows of each column in registers: the row
/// that enters is added, the row that leaves is subtracted. Differences of prefix sums along these column sums are the
/// windows' sums. So a pixel costs the same at every radius: about 4 additions down and across, and a few exchanges.
/// The rows between these two wait in a ring in shared memory, where asynchronous copies bring them some rows ahead.
/// DRAM reads each pixel once, except a strip's halo columns (mostly still in L2 from the neighbour) and the 2 R rows
/// above a part.
///
/// Floor: 8 bytes per pixel through DRAM, at the rate of a copy. Shared memory takes less: 33 cycles of 128 bytes for a
/// warp's row of 128 columns (the ring 12, 5 shuffles, prefix sums 4 to write and 8 to read, the means 4). In addition
/// there are the halo columns of a strip, 72 at radius 32, and the time in which all warps of a block wait: for shared
/// memory, shuffles, the barrier. Where R is small, several blocks share a multiprocessor, and one computes while
/// another waits. At radius 32 the ring has 84 rows, and there is room for two blocks with narrow strips, or for one
/// with 504 columns. The wide strip has fewer halo columns and 16 rows in flight, and is faster.
/// Whole sectors are written, and whole lines where a strip is a multiple of 32 columns: the columns that a thread
/// stores differ from those that it adds up.
/// Rounding: a column's sum restarts after 512 rows, and prefix sums cover 128 columns, not the image.
/// Source: McDonnell, Box-filtering techniques, 1981 (running sums); CUDA C++ Programming Guide, asynchronous copies.
#include <limits>

#include "common/machine/device_facts.hpp"
#include "gpu/blur/window.hpp"

namespace rung {
namespace {

using Ahead = Choices<8, 12, 16>;  // rows in flight from DRAM
using Batch = Choices<4, 8>;       // rows between two barriers, i.e. independent prefix sums

constexpr int kRows = 4;           // of a float4 of prefix sums, and of a group of copies
constexpr int kWarpColumns = 128;  // four per lane
constexpr int kMostThreads = 256;
constexpr int kSector = 8;                                   // columns: the least that DRAM and L2 move
constexpr int kMinRows = 32;                                 // of a part
constexpr std::size_t kMostShared = std::size_t{227} << 10;  // of a block
constexpr std::size_t kSharedPerMultiprocessor =
    kMostShared + 1024;                                  // including 1 KB that the system takes for each block
static_assert(kRows % 2 == 0 && kBlurRestart % 8 == 0);  // rows are fetched two by two

/// How the image is cut: a block computes `strip` columns of `rows` rows.
struct Cut {
  int strip = 0, rows = 0;
  int strips = 0, parts = 0;
  int before = 0, after = 0;  // halo columns, whole float4s
  int ahead = 0, batch = 0;   // rows in flight; rows between two barriers
  int slots = 0;              // rows of the ring

  __host__ __device__ int width() const { return before + strip + after; }
  __host__ __device__ int quads() const { return width() / 4; }
};

int sectors_up(std::int64_t n) { return static_cast<int>((n + kSector - 1) / kSector * kSector); }

int threads_of(const Cut& cut) { return (cut.quads() + 31) / 32 * 32; }

/// Prefix sums of four rows: a float4 for each column, and one for each warp's total.
__host__ __device__ constexpr int exchange_size(int quads) { return 4 * quads + (quads + 31) / 32; }

std::size_t shared_bytes(const Cut& cut) {
  const int exchanged = 2 * (cut.batch / kRows) * exchange_size(cut.quads());
  return sizeof(float) * cut.slots * cut.width() + sizeof(float4) * exchanged;
}

/// Blocks of kMostThreads for which a multiprocessor has enough registers.
constexpr int blocks_by_registers(int batch) { return batch == 4 ? 2 : 1; }

/// How many blocks a multiprocessor holds, by shared memory and by registers; none where a block is too large.
int resident_blocks(const Cut& cut) {
  const int threads = threads_of(cut);
  if (threads > kMostThreads || shared_bytes(cut) > kMostShared) return 0;
  return std::min(static_cast<int>(kSharedPerMultiprocessor / (shared_bytes(cut) + 1024)),
                  blocks_by_registers(cut.batch) * kMostThreads / threads);
}

/// An estimate of the cycles that the busiest multiprocessor takes for its rows. A row of its blocks takes the longest
/// of three times: 8 bytes per pixel at its share of DRAM's bandwidth, plus halo columns at L2's; the instructions that
/// a scheduler issues for its warps; DRAM's latency, shared by the rows in flight. A block's wait between barriers is
/// added to the first two; other blocks use part of it. A block alone on its multiprocessor waits for DRAM instead,
/// less with more rows in flight, or for its own chain of exchanges, which takes as long for a narrow strip. Fitted to
/// times measured on an H200.
double cycles_of(const Cut& cut, int radius, int multiprocessors) {
  constexpr double kPixel = 0.51, kBeside = 0.3, kTurn = 300, kLatency = 2000, kAlone = 1;
  const double instructions = cut.batch == 4 ? 85 : 75;  // per warp and row
  const int blocks = (cut.strips * cut.parts + multiprocessors - 1) / multiprocessors;
  const int warps = (blocks * threads_of(cut) / 32 + 3) / 4;  // per scheduler
  const double memory = blocks * (kPixel * cut.strip + kBeside * (cut.before + cut.after));
  const double wait = kTurn / (cut.batch * blocks * blocks);
  const int rows = cut.rows + 2 * radius;
  if (blocks == 1)
    return rows * std::max({memory * (1 + kAlone / cut.ahead), warps * instructions, cut.batch == 4 ? 279.0 : 251.0});
  return rows * std::max(std::max(memory, warps * instructions) + wait, kLatency / cut.ahead);
}

/// The cut with the least estimate among those with `strips` strips, `ahead` rows ahead and `batch` rows in a batch.
Cut cut_into(int strips, int ahead, int batch, const BlurImage& g, double& cycles) {
  const int multiprocessors = gpu_facts().sm_count, most = std::max(g.rows / kMinRows, 1);
  Cut best, cut{.strip = sectors_up((g.cols + strips - 1) / strips),
                .before = sectors_up(g.radius),
                .after = sectors_up(g.radius + 1),
                .ahead = ahead,
                .batch = batch,
                .slots = 2 * g.radius + batch + ahead};
  cut.strips = (g.cols + cut.strip - 1) / cut.strip;
  for (int blocks = 1; blocks <= resident_blocks(cut); ++blocks) {  // per multiprocessor
    const int parts = std::clamp(blocks * multiprocessors / cut.strips, 1, most);
    cut.rows = (g.rows + parts - 1) / parts;
    cut.parts = (g.rows + cut.rows - 1) / cut.rows;
    const double estimate = cycles_of(cut, g.radius, multiprocessors);
    if (estimate < cycles) best = cut;
    cycles = std::min(cycles, estimate);
  }
  return best;
}

/// Strips in as many parts as fill the GPU once. The estimate chooses where a tunable is 0. Otherwise strips are the
/// widest that fit, up to the requested width.
Cut cut_of(const Params& p) {
  constexpr int kNarrowest = 128, kWidest = 4 * kMostThreads;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  const BlurImage g = blur_image(p);
  const auto given = [&](const char* name) { return static_cast<int>(p.at(name)); };
  const auto is_allowed = [](int value, int wanted) { return wanted == 0 || value == wanted; };
  const int strip = given("strip"), batch_given = given("batch"), ahead_given = given("ahead");
  const int widest = strip > 0 ? strip : kWidest, narrowest = strip > 0 ? strip : kNarrowest;
  Cut best;
  double least = kNone;
  for (int strips = (g.cols + widest - 1) / widest; least == kNone || g.cols / strips >= narrowest; ++strips)
    for (const int batch : {4, 8})
      for (const int ahead : {8, 12, 16}) {
        if (!is_allowed(batch, batch_given) || !is_allowed(ahead, ahead_given)) continue;
        const double before = least;
        const Cut cut = cut_into(strips, ahead, batch, g, least);
        if (least < before) best = cut;
      }
  return best;
}

/// Starts to copy a thread's four pixels of a row to the ring. Elements: per copy, 4, or 1 where rows do not begin at
/// multiples of 16 bytes. For columns outside the image the ring has zeros from the start.
template <int Elements>
__device__ __forceinline__ void fetch(const mem<float>* from, mem<float>* to, int col, const BlurImage& g) {
  if constexpr (Elements == 4) {
    __pipeline_memcpy_async(to, from, 16);
  } else {
#pragma unroll
    for (int e = 0; e < 4; ++e)
      if (col + e >= 0 && col + e < g.cols) __pipeline_memcpy_async(to + e, from + e, 4);
  }
}

template <int Elements>
__device__ __forceinline__ void put(mem<float>* to, int col, const BlurImage& g, const float4& means) {
  if constexpr (Elements == 4) {
    *vector_cast<float4>(to) = means;
  } else {
    to[0] = means.x;
    if (col + 1 < g.cols) to[1] = means.y;
    if (col + 2 < g.cols) to[2] = means.z;
    if (col + 3 < g.cols) to[3] = means.w;
  }
}

__device__ __forceinline__ float4 plus(const float4& a, const float4& b) {
  return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}
__device__ __forceinline__ float4 minus(const float4& a, const float4& b) {
  return make_float4(a.x - b.x, a.y - b.y, a.z - b.z, a.w - b.w);
}

/// Where the prefix sums of column `c` are: the four columns of a thread are in four planes, so that the lanes of a
/// warp, which read columns four apart, have no bank conflicts.
__device__ __forceinline__ int place_of(int c, int quads) { return c % 4 * quads + c / 4; }

/// A thread keeps the sums of four neighbouring columns, counted from `before` columns left of the strip. It reads only
/// pixels that it has copied itself, so it waits for no other thread's copies. From all threads' prefix sums it
/// computes the means of four other columns, counted from the strip's first: so a warp writes whole lines.
template <int Elements, int Ahead, int Batch>
__global__ void __launch_bounds__(kMostThreads, blocks_by_registers(Batch))
    blur_running_sum(const mem<float>* x, mem<float>* y, BlurImage g, Cut cut) {
  constexpr int kFours = Batch / kRows, kGroupsAhead = Ahead / kRows;
  const int thread = threadIdx.x, lane = thread % 32;
  const int width = cut.width(), quads = cut.quads(), local = 4 * thread;
  const int row_begin = blockIdx.y * cut.rows, row_end = min(row_begin + cut.rows, g.rows);
  const int first = blockIdx.x * cut.strip, col = first - cut.before + local, mean_col = first + local;
  const bool sums_up = local < width;                          // has columns of the strip or its halo
  const bool loads = sums_up && col + 3 >= 0 && col < g.cols;  // some of them in the image
  const bool computes = local < cut.strip && mean_col < g.cols;

  // A row of the ring has `width` floats. Rows are taken in pairs; a pair never wraps around, since their number is
  // even.
  const int ring_floats = cut.slots * width;
  const auto next_pair = [&](int at) { return at + 2 * width == ring_floats ? 0 : at + 2 * width; };
  mem<float>* const ring = dynamic_shared<mem<float>>();
  mem<float>* const mine = ring + local;
  const int four = exchange_size(quads), half = kFours * four;  // of the exchange: four rows, a batch
  mem<float4>* const exchange = vector_cast<float4>(ring + ring_floats);

  // The window of column j begins at column j - R and ends before j + R + 1. Where it reaches from one warp's columns
  // into the next one's, the rest of the first warp's sum is added to the second's prefix sum.
  int from[4], to[4];
  float crosses[4];
  int near[4];                 // columns in the window of column j
  reg<float> whole_weight[4];  // where the window has all 2 R + 1 rows
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int middle = computes ? cut.before + local + j : cut.before;
    const int begin = middle - g.radius, end = middle + g.radius + 1;
    from[j] = place_of(begin, quads);
    to[j] = place_of(end, quads);
    crosses[j] = begin / kWarpColumns != end / kWarpColumns ? 1.0f : 0.0f;
    near[j] = pixels_of(window_at(min(mean_col + j, g.cols - 1), g.cols, g.radius));
    whole_weight[j] = 1.0f / static_cast<float>((2 * g.radius + 1) * near[j]);
  }
  const int total_at = 4 * quads + (computes ? cut.before + local - g.radius : 0) / kWarpColumns;

  // A group of copies for the 2 R rows before the first batch, and one for each four rows from there on.
  // Rows outside the image, and those that are not needed, are zeros.
  const int needed = min(row_end + g.radius, g.rows);
  int fetched = row_begin - g.radius, free_at = 0;
  const mem<float>* source = x + (row_at(fetched, g) + col);
  const auto fetch_row = [&] __attribute__((always_inline)) {
    if (loads) {
      if (fetched >= 0 && fetched < needed)
        fetch<Elements>(source, mine + free_at, col, g);
      else
        *vector_cast<float4>(mine + free_at) = make_float4(0, 0, 0, 0);
    }
    source += g.cols;
    ++fetched;
    free_at = free_at + width == ring_floats ? 0 : free_at + width;
  };
  const auto fetch_group = [&] __attribute__((always_inline)) {
    if (fetched >= 0 && fetched + kRows <= needed) {
#pragma unroll
      for (int k = 0; k < kRows; k += 2) {
        if (loads) fetch<Elements>(source, mine + free_at, col, g);
        if (loads) fetch<Elements>(source + g.cols, mine + free_at + width, col, g);
        source += 2 * std::int64_t{g.cols};
        free_at = next_pair(free_at);
      }
      fetched += kRows;
    } else {
#pragma unroll 1
      for (int k = 0; k < kRows; ++k) fetch_row();
    }
    __pipeline_commit();
  };
  if (sums_up && (col < 0 || col + 3 >= g.cols))
    for (int at = 0; at < ring_floats; at += width) *vector_cast<float4>(mine + at) = make_float4(0, 0, 0, 0);
#pragma unroll 1
  for (int i = 0; i < 2 * g.radius; ++i) fetch_row();
  __pipeline_commit();
#pragma unroll 1
  for (int i = 0; i < kGroupsAhead; ++i) fetch_group();

  float4 sum = make_float4(0, 0, 0, 0);
  int newest_at = 2 * g.radius * width, oldest_at = 0;  // of the rows that enter; of the rows that leave
  mem<float>* target = y + (row_at(row_begin, g) + mean_col);
  // Each iteration computes the prefix sums of a batch and the means of the previous batch: while the former wait for
  // shuffles, the latter are loaded. So one barrier per iteration is enough: a thread that overwrites a half of the
  // exchange has passed the barrier after all reads of it.
#pragma unroll 1
  for (int top = row_begin, batch = 0;; top += Batch, ++batch) {
    mem<float4>* const sums = exchange + batch % 2 * half;
    const mem<float4>* const sums_before = exchange + (batch + 1) % 2 * half;
    const bool puts = batch > 0 && computes;
    float4 begins[kFours][4], ends[kFours][4], crossed[kFours] = {};
    if (puts) {
#pragma unroll
      for (int f = 0; f < kFours; ++f) {
        crossed[f] = sums_before[f * four + total_at];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          begins[f][j] = sums_before[f * four + from[j]];
          ends[f][j] = sums_before[f * four + to[j]];
        }
      }
    }
    if (top < row_end) {
#pragma unroll
      for (int f = 0; f < kFours; ++f) fetch_group();
      __pipeline_wait_prior(kGroupsAhead);
      // Prefix sums of the thread's columns.
      float4 inner[Batch] = {};
      reg<float> total[Batch] = {}, base[Batch] = {};
      if (sums_up) {
        if (batch % (kBlurRestart / Batch) == 0) {
          sum = make_float4(0, 0, 0, 0);
#pragma unroll 1
          for (int i = 0, at = oldest_at; i < 2 * g.radius; i += 2, at = next_pair(at)) {
            const float4 one = *vector_cast<float4>(mine + at), two = *vector_cast<float4>(mine + at + width);
            sum = plus(plus(sum, one), two);
          }
        }
        float4 fresh[Batch], gone[Batch];
#pragma unroll
        for (int k = 0; k < Batch; k += 2) {
          fresh[k] = *vector_cast<float4>(mine + newest_at);
          fresh[k + 1] = *vector_cast<float4>(mine + newest_at + width);
          gone[k] = *vector_cast<float4>(mine + oldest_at);
          gone[k + 1] = *vector_cast<float4>(mine + oldest_at + width);
          newest_at = next_pair(newest_at);
          oldest_at = next_pair(oldest_at);
        }
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
          sum = plus(sum, fresh[k]);
          inner[k].x = sum.x;
          inner[k].y = inner[k].x + sum.y;
          inner[k].z = inner[k].y + sum.z;
          base[k] = total[k] = inner[k].z + sum.w;
          sum = minus(sum, gone[k]);
        }
      }
      // Then of the warp's.
#pragma unroll
      for (int distance = 1; distance < 32; distance *= 2)
#pragma unroll
        for (int k = 0; k < Batch; ++k) {
          const reg<float> left = __shfl_up_sync(~0u, total[k], distance);
          if (lane >= distance) total[k] += left;
        }
      if (sums_up) {
#pragma unroll
        for (int f = 0; f < kFours; ++f) {
          const int k = kRows * f;
          mem<float4>* const to_own = sums + f * four + thread;
          const float4 left = make_float4(total[k] - base[k], total[k + 1] - base[k + 1], total[k + 2] - base[k + 2],
                                          total[k + 3] - base[k + 3]);
          to_own[0] = left;
          to_own[quads] = plus(left, make_float4(inner[k].x, inner[k + 1].x, inner[k + 2].x, inner[k + 3].x));
          to_own[2 * quads] = plus(left, make_float4(inner[k].y, inner[k + 1].y, inner[k + 2].y, inner[k + 3].y));
          to_own[3 * quads] = plus(left, make_float4(inner[k].z, inner[k + 1].z, inner[k + 2].z, inner[k + 3].z));
        }
      }
      if (lane == 31)
#pragma unroll
        for (int f = 0; f < kFours; ++f)
          sums[f * four + 4 * quads + thread / 32] =
              make_float4(total[4 * f], total[4 * f + 1], total[4 * f + 2], total[4 * f + 3]);
    }
    if (puts) {
      reg<float> windows[Batch][4];
#pragma unroll
      for (int f = 0; f < kFours; ++f) {
        const reg<float> crossing[kRows] = {crossed[f].x, crossed[f].y, crossed[f].z, crossed[f].w};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const reg<float> begin[kRows] = {begins[f][j].x, begins[f][j].y, begins[f][j].z, begins[f][j].w};
          const reg<float> end[kRows] = {ends[f][j].x, ends[f][j].y, ends[f][j].z, ends[f][j].w};
#pragma unroll
          for (int k = 0; k < kRows; ++k) windows[kRows * f + k][j] = (crosses[j] * crossing[k] - begin[k]) + end[k];
        }
      }
      const int row = top - Batch;  // the first of the batch before
      const bool is_whole = row >= g.radius && row + Batch <= min(row_end, g.rows - g.radius);
#pragma unroll
      for (int k = 0; k < Batch; ++k) {
        if (!is_whole && row + k >= row_end) break;
        reg<float> weight[4];
        const int rows = is_whole ? 0 : pixels_of(window_at(row + k, g.rows, g.radius));
#pragma unroll
        for (int j = 0; j < 4; ++j) weight[j] = is_whole ? whole_weight[j] : 1.0f / static_cast<float>(rows * near[j]);
        put<Elements>(target, mean_col, g,
                      make_float4(windows[k][0] * weight[0], windows[k][1] * weight[1], windows[k][2] * weight[2],
                                  windows[k][3] * weight[3]));
        target += g.cols;
      }
    }
    if (top >= row_end) break;
    __syncthreads();
  }
}

const bool added = add_gpu_kernel({
    .name = "gpu/blur/running_sum",
    .order = 40,
    .title = "running sum",
    .idea = "A block goes down a strip of columns, adds the row that enters, subtracts the row that leaves, and "
            "computes windows as differences of prefix sums: the same cost at every radius, in one pass.",
    .source = {{"mcdonnell1981"}, {"cuda-guide", "asynchronous data copies"}},
    .tunables = {{"ahead", {0, 8, 12, 16}}, {"batch", {0, 4, 8}}, {"strip", {0, 504, 440, 376, 232}}},
    .gpu = {.min_compute_capability = 80,
            .launch =
                [](const Params& p) {
                  const Cut cut = cut_of(p);
                  return Launch{{static_cast<unsigned>(cut.strips), static_cast<unsigned>(cut.parts)},
                                {static_cast<unsigned>(threads_of(cut))},
                                shared_bytes(cut)};
                },
            .requested =
                [](const Params& p) {
                  const Cut cut = cut_of(p);
                  const std::int64_t radius = p.at("radius");
                  return Traffic{.loaded = 4 * pixels_of_pieces(p.at("m"), cut.rows, radius, radius) *
                                           pixels_of_pieces(p.at("n"), cut.strip, cut.before, cut.after),
                                 .stored = 4 * blur_pixels(p)};
                }},
    .run =
        [](const Call& call) {
          const bool has_quads = call.params.at("n") % 4 == 0;  // every row begins at a multiple of 16 bytes
          const Cut cut = cut_of(call.params);
          const auto run = [&](auto kernel) {
            launch(call, kernel, call.operand<const mem<float>>(0), call.operand<mem<float>>(1),
                   blur_image(call.params), cut);
          };
          Ahead::pick(cut.ahead, [&](auto ahead) {
            Batch::pick(cut.batch, [&](auto batch) {
              has_quads ? run(blur_running_sum<4, ahead, batch>) : run(blur_running_sum<1, ahead, batch>);
            });
          });
        },
});

}  // namespace
}  // namespace rung
