/// The compiled shapes among which the rungs on wgmma select, and the time that each is expected to take.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "gpu/matmul/wgmma.hpp"

namespace rung::wgmma {

/// A compiled shape and its name: rows x columns of C that a block computes; `pair`: two blocks, one below the other,
/// load B together; `split`: so many blocks share k.
struct Named {
  const char* name;
  Shape shape;
};

constexpr Shape large(int cols, int lead, bool share = false) {
  return {.groups = 2,
          .stages = 4,
          .persistent = true,
          .cluster = 2,
          .cols = cols,
          .lead = lead,
          .share = share,
          .early = true};
}
/// Stores C by TMA, with so many boxes of a warp on their way, and has as many stages as then fit into the 227 KB of a
/// block.
constexpr Shape staged(Shape shape, int boxes = 2) {
  shape.staged = boxes;
  shape.stages = (226 * 1024 - shape.staged_bytes()) / (shape.stage_bytes() + 16);
  return shape;
}
/// Stores half of C directly, so that a warp waits less for TMA to read the rest.
constexpr Shape mixed(Shape shape) {
  shape.mixed = true;
  return shape;
}
/// Multiplies the columns in two halves: sums in further registers are then those of one half.
constexpr Shape halved(Shape shape) {
  shape.passes = 2;
  return shape;
}
/// If the registers allow it, two blocks fit on a multiprocessor, so that the next launch can be set up beside this
/// one.
constexpr Shape small(int groups, int cols, int cluster, int parts, int most_sums = 128) {
  const int stage = Shape{.groups = groups, .cluster = cluster, .cols = cols}.stage_bytes();
  const int ring = (groups * cols > most_sums ? 192 : 96) * 1024;
  return {.groups = groups, .stages = ring / stage, .cluster = cluster, .cols = cols, .parts = parts, .early = true};
}

inline constexpr Named kAllShapes[] = {
    {"64x64", small(1, 64, 1, 1)},
    {"64x64_split2", small(1, 64, 1, 2)},
    {"64x64_split4", small(1, 64, 1, 4)},
    {"128x64", small(2, 64, 1, 1)},
    {"128x64_split2", small(2, 64, 1, 2)},
    {"128x64_split4", small(2, 64, 1, 4)},
    {"128x128_split2", small(2, 128, 1, 2)},
    {"128x128_pair", small(2, 128, 2, 1)},
    {"128x128_pair_split2", small(2, 128, 2, 2)},
    {"128x192_pair", large(192, 2)},
    {"128x256_pair", large(256, 2)},
    {"128x256_pair_stream_k", large(256, 2, true)},
};
inline constexpr Named kSplitShapes[] = {
    {"64x64_split2", small(1, 64, 1, 2)},    {"64x64_split4", small(1, 64, 1, 4)},
    {"128x64_split2", small(2, 64, 1, 2)},   {"128x64_split4", small(2, 64, 1, 4)},
    {"128x128_split2", small(2, 128, 1, 2)}, {"128x128_pair_split2", small(2, 128, 2, 2)},
};
/// For inputs of 8 or 32 bits. Dividing the last tiles along k gained at most 1 % on an H200, and lost up to a sixth.
inline constexpr Named kWholeShapes[] = {
    {"64x64", small(1, 64, 1, 1)},
    {"128x64", small(2, 64, 1, 1)},
    {"128x128_pair", staged(small(2, 128, 2, 1))},
    {"128x192_pair", staged(large(192, 2))},
    {"128x256_pair", staged(large(256, 2))},
};
/// For sums that need twice the registers: tiles are 192 wide, or 256 in two halves.
inline constexpr Named kPromotedShapes[] = {
    {"64x64", small(1, 64, 1, 1)},
    {"128x64", small(2, 64, 1, 1, 64)},
    {"128x128_pair", staged(large(128, 1))},
    {"128x192_pair", staged(large(192, 1), 1)},
    {"128x256_pair", halved(mixed(staged(large(256, 1), 1)))},
};

/// Clock cycles that a product is expected to take, of the busiest multiprocessor. Its tensor cores multiply 4096 pairs
/// of bytes in a cycle, half as many of 16-bit numbers, a quarter of TF32's; the other rates are such that the order of
/// the shapes is the one measured on an H100 for N = 256 to 1024: only that order matters, since the clock falls as the
/// tensor cores fill up.
inline double expected_cycles(const Shape& s, const MatmulShape& p, int multiprocessors) {
  constexpr double kPairs = 4096, kLoaded = 50, kStored = 32;  // a cycle: of bytes, bytes from L2, bytes to it
  constexpr double kExchanged = 16;                            // of the other blocks' sums, through their shared memory
  constexpr double kBegin = 3700, kMeeting = 1500;             // until the first tile is there, until others have sums
  // Clusters of four leave a part of the multiprocessors of a GPC idle.
  const int usable = s.cluster_blocks() > 2 ? multiprocessors * 15 / 16 : multiprocessors;
  const int clusters = std::max(1, usable / s.cluster_blocks());
  const double filled = static_cast<double>(tiles_of(s, p)) / clusters, waves = s.share ? filled : std::ceil(filled);
  const double steps = std::ceil(std::ceil(p.k / double(s.depth())) / s.parts);
  const double reads_again = s.passes > 1 ? 1.08 : 1;  // each pass reads A: measured on an H200 in FP8
  const double multiplied = s.rows() * s.cols * double{kSliceBytes} * s.instructions() / kPairs * reads_again;
  const double loaded = (s.a_bytes() + s.b_bytes() / s.cluster) / kLoaded;
  const double both = multiplied * multiplied * multiplied * multiplied + loaded * loaded * loaded * loaded;
  const double step = std::sqrt(std::sqrt(both));             // somewhat above the larger
  const bool stores_beside = s.lead > 0 || s.resident() > 1;  // while another warpgroup multiplies
  const double store = s.rows() * s.cols * 4.0 / s.parts / kStored;
  const double others = (s.parts - 1) * (kMeeting + s.rows() * s.cols * 4.0 / kExchanged);
  const double exchange = s.share && filled != std::ceil(filled) ? kMeeting + 2 * store : others;
  return waves * steps * step + store * (stores_beside ? 1 : waves) + kBegin + exchange;
}

/// Of a list of shapes, the place of the one that is expected to take least.
inline int best_shape(std::span<const Named> shapes, Type type, const MatmulShape& p) {
  const int multiprocessors = gpu_facts().sm_count;
  const auto cycles = [&](const Named& named) {
    return expected_cycles(shape_for(type, named.shape), p, multiprocessors);
  };
  const auto best = std::min_element(shapes.begin(), shapes.end(),
                                     [&](const Named& x, const Named& y) { return cycles(x) < cycles(y); });
  return static_cast<int>(best - shapes.begin());
}

namespace {

template <Type kType, const auto& kShapes, int kWhich>
void run_one(const Call& call) {
  constexpr Shape kShape = shape_for(kType, kShapes[kWhich].shape);
  run<kType, TileOf<kShape>>(call);
}

template <Type kType, const auto& kShapes, int... Which>
void run_one_of(int which, const Call& call, std::integer_sequence<int, Which...>) {
  ((which == Which ? run_one<kType, kShapes, Which>(call) : void()), ...);
}

/// The record of a rung that selects among shapes, but for what it is called and how it differs.
template <Type kType, const auto& kShapes>
bool add_choice(Kernel kernel) {
  constexpr int kCount = std::size(kShapes);
  std::vector<Value> names{{-1, "best"}};
  for (int i = 0; i < kCount; ++i) names.push_back({i, kShapes[i].name});
  kernel = common_record(std::move(kernel), kType);
  kernel.tunables = {{"shape", names}, {"group_rows", {8, 4, 16}}};
  const auto which_of = [](const Params& p) {
    if (const std::int64_t wanted = p.get("shape", -1); wanted >= 0) return static_cast<int>(wanted);
    struct Known {
      int m, n, k, best;
    };
    static thread_local Known last{};  // the calls between two timed launches must cost nothing
    const auto [m, n, k] = matmul_shape(p);
    if (last.m != m || last.n != n || last.k != k) last = {m, n, k, best_shape(kShapes, kType, {m, n, k})};
    return last.best;
  };
  const auto shape_of = [=](const Params& p) { return shape_for(kType, kShapes[which_of(p)].shape); };
  kernel.gpu.launch = [=](const Params& p) { return launch_of(shape_of(p), p); };
  kernel.gpu.requested = [=](const Params& p) { return traffic_of(shape_of(p), p); };
  kernel.run = [=](const Call& call) {
    run_one_of<kType, kShapes>(which_of(call.params), call, std::make_integer_sequence<int, kCount>());
  };
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::wgmma
