/// Running sums along the rows, then down the columns, in one pass. Along a row a window differs from the previous one
/// by the pixel that enters minus the pixel that leaves. Added up over 1, 2, 4 … columns within vectors, these
/// differences give the next vector's windows: log2(lanes) shuffles and additions, and a chain of one addition per
/// vector. The rows' windows wait in a ring of 2 R + 1 rows, which L2 holds. A row that enters replaces the row that
/// leaves, and both update the columns' sums, which L1 holds. So DRAM reads each pixel once, and a vector of pixels
/// costs the same at every radius. Where no cache holds the image, means are written by streaming stores. Pixels are
/// prefetched 1024 columns before they enter, at the end of a strip's row from the next row: the processor's own
/// prefetcher would start again with each row. Prefetching a whole row ahead would take the space in L1 that the
/// columns' sums need, and narrower strips cost bandwidth: DRAM is read and written in shorter pieces.
///
/// Floor: 8 bytes per pixel at the bandwidth of a copy. With AVX-512 a vector of 16 pixels takes 13 operations on two
/// ports (a difference, 4 shuffles, 5 additions, 2 more down the columns and a factor): 6.5 cycles, 0.4 per pixel. In
/// the same time there is room for the 7 loads, two across lines, and 3 stores.
/// Rounding: the sums down restart after 512 rows, the sums along after 128 (2 R + 1) columns, so that adding up a
/// whole window costs one addition per 128 pixels at every radius. A step of 16 columns adds the rounding errors of 32
/// differences of pixels, each doubled at each of 4 levels, and one of the window: at most 1 + 160 / (2 R + 1) times a
/// window's error. In 128 (2 R + 1) columns the factor is 8 (2 R + 1) + 1280, 1800 at radius 32.
/// Source: McDonnell, Box-filtering techniques, 1981; Hillis and Steele 1986 (sums over 1, 2, 4 … lanes); Datta et al.
/// 2008 (streaming stores, prefetching).
#include <bit>
#include <utility>

#include "cpu/blur/strip.hpp"

namespace rung {
namespace {

using namespace blur;

constexpr int kLevels = std::countr_zero(static_cast<unsigned>(kLanes));
constexpr int kPage = 4096 / sizeof(float);
// A load waits for an outstanding store to the same place in another page. So means are stored kDelay columns later,
// and the sums and the ring are shifted by kDelay relative to the image: then stores are behind all loads.
constexpr int kDelay = 64;
static_assert(kDelay >= kBlurRadiusLimit + kLanes && kDelay % kLanes == 0);

int whole_pages(int n) { return (n + kPage - 1) / kPage * kPage; }

/// A thread's memory: the columns' sums and shares, an edge of a row, and the windows of the last 2 R + 1 rows.
struct Lines {
  float *sums, *shares, *edge, *ring;
  int pitch, slots;

  static int edge_floats(const BlurImage& g) { return whole_pages(3 * g.radius + 4 * kLanes); }
  static std::size_t all_floats(const BlurImage& g, int strip) {
    return kPage + std::size_t(2 * g.radius + 3) * whole_pages(strip) + edge_floats(g);
  }
  Lines(const BlurImage& g, int strip, float* memory) : pitch(whole_pages(strip)), slots(2 * g.radius + 1) {
    sums = memory + (kPage - kDelay);
    shares = sums + pitch;
    edge = shares + pitch;
    ring = edge + edge_floats(g);
  }
  float* slot(int row) const { return ring + std::size_t((row + slots) % slots) * pitch; }
};

/// The lanes of `after` moved up by kBy, after the last ones of `before`.
template <int kBy, int... kLane>
FloatVector moved_up(FloatVector before, FloatVector after, std::integer_sequence<int, kLane...>) {
  return __builtin_shufflevector(before, after, (kLanes - kBy + kLane)...);
}

/// The windows along a row at kLanes columns, and the state for the next kLanes.
class Windows {
 public:
  /// Starts with the columns whose first window begins at `x`.
  FloatVector begin(const float* x, int radius) {
    const float before = sum_of(x - 1, 2 * radius + 1);  // the window of the previous column
    std::fill_n(last_, kLevels, FloatVector{});
    return sums_ = before + difference(x, radius);
  }

  FloatVector next(const float* x, int radius) { return sums_ += difference(x, radius); }

 private:
  static float sum_of(const float* x, int n) {
    FloatVector sums = {};
    int i = 0;
    for (; i + kLanes <= n; i += kLanes) sums += load(x + i);
    float sum = 0;
    for (int lane = 0; lane < kLanes; ++lane) sum += sums[lane];
    for (; i < n; ++i) sum += x[i];
    return sum;
  }

  /// The differences between the windows and the windows kLanes columns before.
  FloatVector difference(const float* x, int radius) {
    return added_up(load(x + 2 * radius) - load(x - 1), std::make_integer_sequence<int, kLevels>());
  }
  template <int... kLevel>
  FloatVector added_up(FloatVector steps, std::integer_sequence<int, kLevel...>) {
    ((steps +=
      moved_up<(1 << kLevel)>(std::exchange(last_[kLevel], steps), steps, std::make_integer_sequence<int, kLanes>())),
     ...);
    return steps;
  }

  FloatVector sums_ = {};
  FloatVector last_[kLevels] = {};  // the previous windows' differences over 1, 2, 4 … columns
};

/// The processing of one piece of the image, row by row.
template <Store kStore>
class Descent {
 public:
  Descent(const BlurImage& g, const Piece& piece, const Lines& lines, int ahead, const float* x, float* y)
      : g_(g), piece_(piece), lines_(lines), ahead_(ahead), x_(x), y_(y), columns_(whole_vectors(piece.columns())) {
    std::fill_n(lines.shares, lines.pitch, 0.0f);
    fill_shares(g, piece, lines.shares);
    std::fill_n(lines.ring, std::size_t(lines.slots) * lines.pitch, 0.0f);
    // Up to left_ and from right_ on, windows reach beyond the image.
    left_ = piece.begin == 0 ? std::min(columns_, whole_vectors(g.radius + 1)) : 0;
    const int inside = g.cols - g.radius - piece.begin;  // from here on windows reach beyond the right edge
    right_ = std::clamp(inside / kLanes * kLanes, left_, columns_);
  }

  void go() {
    for (int row = std::max(piece_.top - g_.radius, 0); row < piece_.top + g_.radius; ++row)
      if (row < g_.rows) each_window(row, [&](int i, FloatVector windows) { put(lines_.slot(row) + i, windows); });
    for (int row = piece_.top; row < piece_.bottom; ++row) {
      if ((row - piece_.top) % kBlurRestart == 0) begin_sums();
      put_row(row);
    }
  }

 private:
  /// Calls use(column, the windows along row `row` from this column on).
  template <typename Use>
  void each_window(int row, const Use& use) {
    const float* const from = x_ + std::int64_t{row} * g_.cols + piece_.begin;
    const int radius = g_.radius, ahead = std::min(ahead_, columns_), turn = columns_ - ahead;
    const float* const below = from + (row + 1 < g_.rows ? g_.cols : 0) - turn;  // prefetched from column `turn` on
    Windows windows;
    const auto go_on = [&](const float* line, int begin, int end) __attribute__((always_inline)) {
      for (int i = begin; i < end;) {
        if (i % restart() == 0) {
          use(i, windows.begin(line + i - radius, radius));
          i += kLanes;
        }
        for (const int stop = std::min(end, (i / restart() + 1) * restart()); i < stop; i += kLanes) {
          __builtin_prefetch((i < turn ? from + ahead : below) + i);
          use(i, windows.next(line + i - radius, radius));
        }
      }
    };
    if (left_ > 0) go_on(edge(from, 0, left_), 0, left_);
    go_on(from, left_, right_);
    if (right_ < columns_) go_on(edge(from, right_, columns_), right_, columns_);
  }

  int restart() const { return 128 * (2 * g_.radius + 1); }

  /// A copy of the pixels that the windows of columns [begin, end) cover, with zeros for pixels outside the image.
  const float* edge(const float* from, int begin, int end) const {
    float* const copy = lines_.edge + (g_.radius + 1 - begin);
    const int first = begin - g_.radius - 1, last = end + g_.radius + kLanes;
    const int inside = std::max(first, -piece_.begin), outside = std::min(last, g_.cols - piece_.begin);
    std::fill(copy + first, copy + inside, 0.0f);
    std::copy(from + inside, from + outside, copy + inside);
    std::fill(copy + outside, copy + last, 0.0f);
    return copy;
  }

  void begin_sums() {
    for (int i = 0; i < columns_; i += kLanes) {
      FloatVector sum = {};
      for (int k = 0; k < lines_.slots; ++k) sum += load(lines_.ring + std::size_t(k) * lines_.pitch + i);
      put(lines_.sums + i, sum);
    }
  }

  /// Below the last row of the image, rows of zeros enter.
  void put_row(int row) {
    const int coming = row + g_.radius, top = std::max(row - g_.radius, 0), bottom = std::min(coming + 1, g_.rows);
    const float row_share = 1.0f / static_cast<float>(bottom - top);
    const float whole_share = row_share / static_cast<float>(2 * g_.radius + 1);
    const int left = left_, right = right_;
    float* const slot = lines_.slot(coming);  // also the slot of the row that leaves
    float* const to = y_ + std::int64_t{row} * g_.cols + piece_.begin;
    const auto put_means = [&](int i) __attribute__((always_inline)) {
      FloatVector share = FloatVector{} + whole_share;
      if (i < left || i >= right) [[unlikely]]
        share = load(lines_.shares + i) * row_share;
      const FloatVector means = load(lines_.sums + i) * share;
      if constexpr (kStore == Store::streaming)
        store<kStore>(reinterpret_cast<FloatVector*>(to + i), means);
      else if (i + kLanes <= piece_.columns())
        put(to + i, means);
      else
        for (int lane = 0; i + lane < piece_.columns(); ++lane) to[i + lane] = means[lane];
    };
    const auto slide = [&](int i, FloatVector windows) __attribute__((always_inline)) {
      put(lines_.sums + i, load(lines_.sums + i) + (windows - load(slot + i)));
      put(slot + i, windows);
      if (i >= kDelay) put_means(i - kDelay);
    };
    if (coming < g_.rows)
      each_window(coming, slide);
    else
      for (int i = 0; i < columns_; i += kLanes) slide(i, FloatVector{});
    for (int i = std::max(columns_ - kDelay, 0); i < columns_; i += kLanes) put_means(i);
  }

  const BlurImage& g_;
  const Piece& piece_;
  const Lines& lines_;
  int ahead_;  // columns from a pixel to the pixel that is prefetched with it
  const float* x_;
  float* y_;
  int columns_, left_, right_;
};

void run(const Call& call) {
  const BlurImage g = blur_image(call.params);
  const auto* x = call.operand<const float>(0);
  auto *y = call.operand<float>(1), *scratch = call.operand<float>(2);
  const int strip = static_cast<int>(call.params.at("strip")), ahead = static_cast<int>(call.params.at("ahead"));
  each_piece(g, strip, [&](const Piece& piece, auto store) {
    const Lines lines(g, strip, memory_of_thread(scratch, Lines::all_floats(g, strip)));
    Descent<store>(g, piece, lines, ahead, x, y).go();
  });
}

const bool added = add_kernel({
    .name = "cpu/blur/running_sum",
    .order = 30,
    .title = "running sum",
    .idea = "All threads; running sums along rows in vectors, kept in a ring that L2 holds, running sums down its "
            "columns, streaming stores: the same cost at every radius.",
    .source = {{"mcdonnell1981"}, {"datta2008"}},
    .tunables = {{"strip", {4096, 2048, 3072, 8192}}, {"ahead", {1024, 2048, 512}}},
    .scratch = [](const Params& p) { return thread_scratch(Lines::all_floats(blur_image(p), p.at("strip"))); },
    .run = run,
});

}  // namespace
}  // namespace rung
