/// Rows, then columns: sums of 2 R + 1 neighbours along each row are written to a ring of 2 R + 1 rows, which a cache
/// holds, and sums down that ring give the windows. 2 (2 R + 1) vector additions per vector of pixels, all threads, one
/// pass over memory: at small radii the floor is the bandwidth of a copy, at large radii the two loads per cycle that
/// L1 serves. Source: McDonnell, Box-filtering techniques, 1981 (rows, then columns).
#include <cstring>

#include "cpu/blur/strip.hpp"

namespace rung {
namespace {

using namespace blur;

constexpr int kStrip = 1024;  // columns: 65 rows of the ring fit into L2

/// A thread's memory: a row with R more pixels on both sides, the ring, and the columns' shares.
struct Lines {
  float *padded, *ring, *shares;
  int slots;

  static std::size_t floats(const BlurImage& g) { return line_floats(g, kStrip) + (2 * g.radius + 2) * kPitch; }
  Lines(const BlurImage& g, float* memory)
      : padded(memory), ring(memory + line_floats(g, kStrip)), slots(2 * g.radius + 1) {
    shares = ring + slots * kPitch;
  }
  float* slot(int row) const { return ring + row % slots * kPitch; }

  static constexpr int kPitch = kStrip + 2 * kLanes;
};

/// The sums along row `row`; 0 for rows outside the image.
void sum_row(const BlurImage& g, const float* x, const Piece& piece, int row, const Lines& lines, float* sums) {
  const int first = std::max(piece.begin - g.radius, 0), last = std::min(piece.end + g.radius, g.cols);
  std::memcpy(lines.padded + (first - piece.begin + g.radius), x + std::int64_t{row} * g.cols + first,
              sizeof(float) * (last - first));
  for (int i = 0; i < piece.columns(); i += kLanes) {
    FloatVector sum = {};
    for (int j = 0; j <= 2 * g.radius; ++j) sum += load(lines.padded + i + j);
    put(sums + i, sum);
  }
}

template <Store kStore>
void blur_piece(const BlurImage& g, const float* x, float* y, const Piece& piece, const Lines& lines) {
  std::fill_n(lines.padded, line_floats(g, kStrip), 0.0f);
  std::fill_n(lines.shares, Lines::kPitch, 0.0f);
  fill_shares(g, piece, lines.shares);
  int known = std::max(piece.top - g.radius, 0);  // rows before it are in the ring
  for (int row = piece.top; row < piece.bottom; ++row) {
    const int top = std::max(row - g.radius, 0), bottom = std::min(row + g.radius + 1, g.rows);
    for (; known < bottom; ++known) sum_row(g, x, piece, known, lines, lines.slot(known));
    const bool is_whole = bottom - top == lines.slots;  // then the order of the slots does not matter
    put_means<kStore>(y + std::int64_t{row} * g.cols + piece.begin, piece.columns(), lines.shares,
                      1.0f / static_cast<float>(bottom - top), [&](int i) {
                        FloatVector sum = {};
                        if (is_whole)
                          for (int r = 0; r < lines.slots; ++r) sum += load(lines.ring + r * Lines::kPitch + i);
                        else
                          for (int r = top; r < bottom; ++r) sum += load(lines.slot(r) + i);
                        return sum;
                      });
  }
}

void run(const Call& call) {
  const BlurImage g = blur_image(call.params);
  const auto* x = call.operand<const float>(0);
  auto *y = call.operand<float>(1), *scratch = call.operand<float>(2);
  each_piece(g, kStrip, [&](const Piece& piece, auto store) {
    blur_piece<store>(g, x, y, piece, Lines(g, memory_of_thread(scratch, Lines::floats(g))));
  });
}

const bool added = add_kernel({
    .name = "cpu/blur/separable",
    .order = 20,
    .title = "separable",
    .idea = "All threads; sums along the rows in a ring that a cache holds, then sums down its columns, in vectors.",
    .source = {{"mcdonnell1981"}, {"openmp", "parallel construct"}},
    .scratch = [](const Params& p) { return thread_scratch(Lines::floats(blur_image(p))); },
    .run = run,
});

}  // namespace
}  // namespace rung
