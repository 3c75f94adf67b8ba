/// The register tiles of every SIMD width that this CPU has: each number of rows and columns, from rows of A and
/// packed, from B in place and packed, gives the product, and touches nothing behind its operands.
#include "cpu/matmul/micro_kernel.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace rung {
namespace {

/// Floats that end where a page does, before one that may not be touched.
class AtPagesEnd {
 public:
  explicit AtPagesEnd(std::size_t count) : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    usable_ = (count * sizeof(float) + page_ - 1) / page_ * page_;
    memory_ = mmap(nullptr, usable_ + page_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory_ == MAP_FAILED || mprotect(end(), page_, PROT_NONE) != 0) throw Error("no memory with a guarded end");
    first_ = reinterpret_cast<float*>(end()) - count;
  }
  ~AtPagesEnd() { munmap(memory_, usable_ + page_); }
  AtPagesEnd(const AtPagesEnd&) = delete;
  AtPagesEnd& operator=(const AtPagesEnd&) = delete;

  float* data() { return first_; }
  float& operator[](std::ptrdiff_t i) { return first_[i]; }

 private:
  char* end() const { return static_cast<char*>(memory_) + usable_; }

  std::size_t page_, usable_ = 0;
  void* memory_ = nullptr;
  float* first_ = nullptr;
};

std::vector<const MicroKernels*> widths() {
  std::vector<const MicroKernels*> all;
  for (const Value& bits : simd_tunable().values)
    if (refuse_simd({{"simd", bits.number}}).empty()) all.push_back(&micro_kernels(bits.number));
  return all;
}

/// Small whole numbers: sums of their products are exact, in whatever order.
float a_at(int row, int p) { return static_cast<float>((3 * row + 5 * p) % 11 - 5); }
float b_at(int p, int col) { return static_cast<float>((7 * p + 2 * col) % 13 - 6); }
float c_at(int row, int col) { return static_cast<float>((row + 4 * col) % 9 - 4); }

constexpr int kDepth = 70;  // more than a tile's last steps, which come after its prefetches
constexpr float kAlpha = 2, kBeta = 3;

float wanted(int row, int col) {
  float sum = 0;
  for (int p = 0; p < kDepth; ++p) sum += a_at(row, p) * b_at(p, col);
  return kAlpha * sum + kBeta * c_at(row, col);
}

/// One tile on operands without padding, except that C has one column more, which must stay.
void check_tile(const MicroKernels& simd, bool a_is_packed, FromB from, int rows, int columns) {
  SCOPED_TRACE(std::to_string(simd.bits) + " bits, A in " + (a_is_packed ? "a micro-panel" : "rows") + ", B " +
               std::to_string(static_cast<int>(from)) + ", " + std::to_string(rows) + " x " + std::to_string(columns));
  const int wide = simd.packed_width(columns), ldb = from == FromB::packed ? wide : columns, ldc = columns + 1;
  ASSERT_GE(wide, columns);
  ASSERT_EQ(wide % simd.lanes, 0);
  AtPagesEnd a(std::size_t(rows) * kDepth), b(std::size_t(kDepth) * ldb), c(std::size_t(rows) * ldc);
  AtPagesEnd packed_b(std::size_t(kDepth) * wide);
  for (int row = 0; row < rows; ++row)
    for (int p = 0; p < kDepth; ++p) a[row * kDepth + p] = a_at(row, p);
  for (int p = 0; p < kDepth; ++p)
    for (int col = 0; col < ldb; ++col) b[p * ldb + col] = col < columns ? b_at(p, col) : NAN;
  for (int row = 0; row < rows; ++row)
    for (int col = 0; col < ldc; ++col) c[row * ldc + col] = c_at(row, col);
  AtPagesEnd panel(std::size_t(rows) * kDepth);
  simd.pack_a(a.data(), kDepth, rows, kDepth, panel.data());
  simd.tile(from, rows, columns)({.k = kDepth,
                                  .columns = columns,
                                  .a = a_is_packed ? panel.data() : a.data(),
                                  .b = b.data(),
                                  .c = c.data(),
                                  .lda = a_is_packed ? 0 : kDepth,
                                  .ldb = from == FromB::packed ? 0 : ldb,
                                  .ldc = ldc,
                                  .a_is_packed = a_is_packed,
                                  .alpha = kAlpha,
                                  .beta = kBeta,
                                  .packed_b = packed_b.data()});
  for (int row = 0; row < rows; ++row) {
    for (int col = 0; col < columns; ++col) ASSERT_EQ(c[row * ldc + col], wanted(row, col)) << row << ", " << col;
    ASSERT_EQ(c[row * ldc + columns], c_at(row, columns)) << "behind row " << row;
  }
  if (from != FromB::packing) return;
  for (int p = 0; p < kDepth; ++p)
    for (int col = 0; col < columns; ++col) ASSERT_EQ(packed_b[p * wide + col], b_at(p, col)) << p << ", " << col;
}

void check_tiles(const MicroKernels& simd, FromB from) {
  for (const bool a_is_packed : {false, true})
    for (int rows = 1; rows <= simd.rows; ++rows)
      for (int columns = 1; columns <= simd.width(); ++columns) check_tile(simd, a_is_packed, from, rows, columns);
}

TEST(CpuMicroKernel, EveryTileIsRightAndStaysWithinItsOperands) {
  const std::string refusal = refuse_simd({{"simd", 128}});
  if (refusal.starts_with("built without ")) GTEST_SKIP() << refusal;
  ASSERT_FALSE(widths().empty()) << refusal;
  for (const MicroKernels* simd : widths())
    for (const FromB from : {FromB::matrix, FromB::packed, FromB::packing}) check_tiles(*simd, from);
}

TEST(CpuMicroKernel, WideTilesAreRightAndStayWithinTheirOperands) {
  for (const MicroKernels* simd : widths()) {
    const bool has_wide = std::any_of(std::begin(kSimdWidths), std::end(kSimdWidths), [&](const SimdWidth& width) {
      return width.bits == simd->bits && width.wide_tile.rows > 0;
    });
    EXPECT_EQ(simd->wide != nullptr, has_wide);
    if (simd->wide) check_tiles(*simd->wide, FromB::matrix);
  }
}

}  // namespace
}  // namespace rung
