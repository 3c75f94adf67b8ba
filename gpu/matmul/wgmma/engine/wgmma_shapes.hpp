/// The compiled shapes from which the rungs on wgmma select, and the expected time of each.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/matmul/wgmma/engine/wgmma.hpp"

namespace rung::wgmma {

/// A compiled shape and its name: rows x columns of C that a block computes; `pair`: two blocks, one below the other,
/// load B together; `split2`, `split4`: 2 or 4 blocks share k.
struct Named {
  const char* name;
  Shape shape;
};

/// One block per multiprocessor, in pairs; each computes tile after tile.
constexpr Shape large(int cols, int groups = 2) {
  return {.groups = groups, .stages = 4, .persistent = true, .cluster = 2, .cols = cols, .early = true};
}
/// Divides the tiles of the last, partial wave along k.
constexpr Shape split_tail(Shape shape) {
  shape.splits_tail = true;
  return shape;
}
/// Stores C by TMA, from `boxes` boxes per warpgroup, with all stages that then fit into a block's 227 KB.
constexpr Shape staged(Shape shape, int boxes = 2) {
  shape.staged = boxes;
  shape.stages = (226 * 1024 - shape.staged_bytes() - 16 * shape.groups * boxes) / (shape.stage_bytes() + 16);
  return shape;
}
/// One warpgroup stores while the other one multiplies. Where each step's sums are added in further registers this
/// would be slower: one warpgroup alone does not keep the tensor cores busy.
constexpr Shape in_turn(Shape shape, int steps = 4) {
  shape.in_turn = steps;
  return shape;
}
/// Multiplies the columns in two halves: further registers are then needed for the sums of one half only.
constexpr Shape halved(Shape shape) {
  shape.passes = 2;
  return shape;
}
/// If the registers allow it, two blocks fit on a multiprocessor, so that the next launch can be set up during this
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
    {"128x192_pair", in_turn(staged(large(192), 4))},
    {"128x256_pair", in_turn(staged(large(256)))},
    {"192x192_pair", staged(large(192, 3), 1)},
    {"128x256_pair_split_tail", in_turn(staged(split_tail(large(256))))},
};
inline constexpr Named kSplitShapes[] = {
    {"64x64_split2", small(1, 64, 1, 2)},    {"64x64_split4", small(1, 64, 1, 4)},
    {"128x64_split2", small(2, 64, 1, 2)},   {"128x64_split4", small(2, 64, 1, 4)},
    {"128x128_split2", small(2, 128, 1, 2)}, {"128x128_pair_split2", small(2, 128, 2, 2)},
};
/// For inputs of 8 or 32 bits, and for any rows and factors with 16 bits. None divides the last tiles along k, which
/// gained little and could lose much.
inline constexpr Named kWholeShapes[] = {
    {"64x64", small(1, 64, 1, 1)},
    {"128x64", small(2, 64, 1, 1)},
    {"128x128_pair", staged(small(2, 128, 2, 1))},
    {"128x192_pair", in_turn(staged(large(192), 4))},
    {"128x256_pair", in_turn(staged(large(256)))},
};
/// For sums that need twice the registers: tiles are 192 wide, or 256 in two halves.
inline constexpr Named kPromotedShapes[] = {
    {"64x64", small(1, 64, 1, 1)},
    {"128x64", small(2, 64, 1, 1, 64)},
    {"128x128_pair", staged(large(128))},
    {"128x192_pair", staged(large(192), 3)},
    {"128x256_pair", halved(staged(large(256)))},
};

/// The expected clock cycles of a product, on the busiest multiprocessor. Its tensor cores multiply 4096 pairs of bytes
/// per cycle, half as many pairs of 16-bit numbers, a quarter of TF32. The other rates are fitted so that the shapes
/// have the order measured on an H100 for sizes from 64 to 16384. Only the order matters, since the clock falls as the
/// tensor cores fill up. experiments/tuning/choices.py computes how much slower a choice is than the fastest shape.
/// Taking the fastest shape of the nearest measured size would lose more, since the number of waves jumps.
inline double expected_cycles(const Shape& s, const MatmulShape& p, int multiprocessors) {
  constexpr double kPairs = 4096, kLoaded = 40, kStored = 32;  // per cycle: pairs of bytes, bytes from L2, bytes to L2
  constexpr double kExchanged = 16;                 // bytes of the other blocks' sums, from their shared memory
  constexpr double kBegin = 3700, kMeeting = 1500;  // until the first tile has arrived, until other blocks have sums
  // Clusters of four leave a part of the multiprocessors of a GPC idle.
  const int usable = s.cluster_blocks() > 2 ? multiprocessors * 15 / 16 : multiprocessors;
  const int clusters = std::max(1, usable / s.cluster_blocks());
  const double tiles = static_cast<double>(tiles_of(s, p));
  const Tail tail = tail_of(s, p);
  const double waves = tail.parts > 1 ? std::floor(tiles / clusters) + 1.0 / tail.parts : std::ceil(tiles / clusters);
  const double steps = std::ceil(std::ceil(p.k / double(s.depth())) / s.parts);
  const double reads_again = s.passes > 1 ? 1.08 : 1;  // each pass reads A again: fitted on an H200 in FP8
  const double multiplied = s.rows() * s.cols * double{kSliceBytes} * s.instructions() / kPairs * reads_again;
  // Where rows do not begin at sectors, the 128 bytes of a step are in five sectors and two lines: a factor between
  // 5 / 4 and 2, fitted to measurements.
  const int row_of_a = s.a_by_columns() ? p.m : p.k, row_of_b = s.b_by_columns() ? p.k : p.n;
  const bool is_aligned = row_of_a * s.input_bytes % 32 == 0 && row_of_b * s.input_bytes % 32 == 0;
  const double fetched = is_aligned ? 1 : 1.75;
  const double loaded = fetched * (s.a_bytes() + s.b_bytes() / s.cluster) / kLoaded;
  const double both = multiplied * multiplied * multiplied * multiplied + loaded * loaded * loaded * loaded;
  const double step = std::sqrt(std::sqrt(both));  // somewhat above the larger
  // For each tile except the last: the part that no other warpgroup's products and no TMA store hide.
  const double waits = s.in_turn > 0 || s.resident() > 1 ? 0 : 1 - double(s.staged * kStoredCols) / s.cols;
  const double store = s.rows() * s.cols * 4.0 / s.parts / kStored;
  const double others = (s.parts - 1) * (kMeeting + s.rows() * s.cols * 4.0 / kExchanged);
  const double exchange = tail.parts > 1 ? kMeeting + 4 * store : others;
  return waves * steps * step + store * (1 + waits * (waves - 1)) + kBegin + exchange;
}

/// The index of the shape with the least expected time.
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

/// Compiled shapes of one layout, for any rows and factors if `general`.
struct Compiled {
  std::span<const Named> shapes;
  MatmulLayout layout;
  bool general;
  void (*run)(int which, const Call& call);

  Shape shape(Type type, int which) const { return shape_for(type, shapes[which].shape, layout, general); }
};

template <Type kType, const auto& kShapes, MatmulLayout kLayout, bool kGeneral, int kWhich>
void run_one(const Call& call) {
  constexpr Shape kShape = shape_for(kType, kShapes[kWhich].shape, kLayout, kGeneral);
  run<kType, TileOf<kShape>>(call);
}

template <Type kType, const auto& kShapes, MatmulLayout kLayout, bool kGeneral>
void run_one_of(int which, const Call& call) {
  [&]<int... Which>(std::integer_sequence<int, Which...>) {
    ((which == Which ? run_one<kType, kShapes, kLayout, kGeneral, Which>(call) : void()), ...);
  }
  (std::make_integer_sequence<int, std::size(kShapes)>());
}

template <Type kType, const auto& kShapes, MatmulLayout kLayout = usual_layout(kType),
          bool kGeneral = stores_b_by_columns(kType)>
Compiled compiled() {
  return {kShapes, kLayout, kGeneral, run_one_of<kType, kShapes, kLayout, kGeneral>};
}

/// Whether these shapes take the call. For types without 16 bits they take any layout, since other layouts are
/// transposed.
inline bool are_for(const Compiled& list, Type type, const Params& p) {
  if (stores_b_by_columns(type)) return true;
  return list.layout == layout_of(p, type) && (list.general || (has_no_general_size(p) && refuse(p).empty()));
}

/// A shape and its list, as indices.
struct Choice {
  std::size_t list = 0;
  int which = 0;
};

/// The choice for a call, from the first list that takes it; none if that list has no shape of the requested name.
inline std::optional<Choice> chosen(std::span<const Compiled> lists, Type type, const Params& p) {
  Choice choice;
  while (choice.list < lists.size() && !are_for(lists[choice.list], type, p)) ++choice.list;
  if (choice.list == lists.size()) return std::nullopt;
  const std::span<const Named> shapes = lists[choice.list].shapes;
  const std::int64_t wanted = p.get("shape", -1);
  if (wanted < 0) return Choice{choice.list, best_shape(shapes, type, matmul_shape(p))};
  const std::string_view name = lists.front().shapes[wanted].name;
  for (const Named& named : shapes)
    if (named.name == name) return Choice{choice.list, static_cast<int>(&named - shapes.data())};
  return std::nullopt;
}

/// Completes and adds the record of a rung that selects among shapes. `kernel`: its name, texts and sources.
template <Type kType>
bool add_choice(Kernel kernel, const std::vector<Compiled>& lists) {
  std::vector<Value> names{{-1, "best"}};
  for (const Named& named : lists.front().shapes) names.push_back({std::ssize(names) - 1, named.name});
  kernel = common_record(std::move(kernel), kType);
  kernel.tunables = {{"shape", names}, {"group_rows", {8, 4, 16}}};
  if (lists.back().general) {
    kernel.is_general = true;
    kernel.takes = {"layout"};
    kernel.refuse = [=](const Params& p) {
      return chosen(lists, kType, p) ? "" : "has no such shape for these rows and factors: choose another one";
    };
  }
  const auto choice_of = [=](const Params& p) {
    // The choice is cached, so it costs nothing between timed launches. Rungs of one type share the variable.
    static thread_local struct {
      const Named* of;
      Params params;
      std::optional<Choice> choice;
    } last{};
    if (const Named* mine = lists.front().shapes.data(); last.of != mine || last.params != p)
      last = {mine, p, chosen(lists, kType, p)};
    if (!last.choice) throw Error("no compiled shape takes this product");
    return *last.choice;
  };
  const auto shape_of = [=](const Params& p) {
    const Choice choice = choice_of(p);
    return lists[choice.list].shape(kType, choice.which);
  };
  kernel.gpu.launch = [=](const Params& p) { return launch_of(shape_of(p), p); };
  kernel.gpu.requested = [=](const Params& p) { return traffic_of(shape_of(p), p); };
  kernel.run = [=](const Call& call) {
    const Choice choice = choice_of(call.params);
    lists[choice.list].run(choice.which, call);
  };
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::wgmma
