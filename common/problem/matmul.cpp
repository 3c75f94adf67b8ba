/// The oracle of the matrix product: exact where the inputs are integers, a rounding-error bound where they are real.
#include "common/problem/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>

#include "common/problem/problem.hpp"

namespace rung {
namespace {

constexpr std::int64_t kSizeLimit = 32768;  // so that every element's index fits a 32-bit int
constexpr int kFullCompare = 256;           // up to this size every element is compared

Params complete(const Params& given) {
  return {{"m", positive_size(given, "m", "n", kSizeLimit)},
          {"n", positive_size(given, "n", "n", kSizeLimit)},
          {"k", positive_size(given, "k", "n", kSizeLimit)}};
}

Params brief(const Params& sizes) {
  const auto [m, n, k] = matmul_shape(sizes);
  if (m == n && n == k) return {{"n", n}};
  return {{"m", m}, {"n", n}, {"k", k}};
}

std::vector<Operand> operands(const Params& sizes) {
  const auto [m, n, k] = matmul_shape(sizes);
  return {{"A", std::size_t(m) * k}, {"B", std::size_t(k) * n}, {"C", std::size_t(m) * n, 4, true}};
}

void fill_inputs(const Params& sizes, Fill fill, std::uint64_t seed, std::span<void* const> host) {
  const std::vector<Operand> all = operands(sizes);
  for (std::size_t i = 0; i < 2; ++i) fill_float({static_cast<float*>(host[i]), all[i].elements}, fill, seed * 2 + i);
}

/// Rows (or columns) to compare: all of a small matrix, else the first, the last, both sides of the borders of tiles
/// of every usual width, and random ones: 64 in all.
std::vector<int> sampled_lines(int count, std::uint64_t seed) {
  std::set<int> lines;
  if (count <= kFullCompare) {
    for (int i = 0; i < count; ++i) lines.insert(i);
  } else {
    for (const int tile : {8, 16, 32, 64, 128, 256})
      for (const int near : {tile - 1, tile, count - count % tile - 1, count - tile, count - 1})
        lines.insert(std::clamp(near, 0, count - 1));
    lines.insert(0);
    for (std::uint64_t i = 0; lines.size() < 64; ++i) lines.insert(static_cast<int>(random_bits(seed, i) % count));
  }
  return {lines.begin(), lines.end()};
}

/// y = M x for a row-major rows x cols matrix, in float64.
std::vector<double> times_vector(const float* matrix, int rows, int cols, const std::vector<double>& x) {
  std::vector<double> y(rows);
#pragma omp parallel for
  for (int row = 0; row < rows; ++row) {
    const float* line = matrix + std::size_t(row) * cols;
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int col = 0; col < cols; ++col) sum += double(line[col]) * x[col];
    y[row] = sum;
  }
  return y;
}

std::string element(int row, int col, double got, double want) {
  return "C[" + std::to_string(row) + "][" + std::to_string(col) + "] is " + std::to_string(got) + ", not " +
         std::to_string(want);
}

/// The float64 product at sampled rows and columns, and |A||B| there for the bound; then the comparison with it.
class Samples {
 public:
  Samples(const MatmulShape& shape, std::uint64_t seed, const float* a, const float* b)
      : shape_(shape), rows_(sampled_lines(shape.m, seed)), cols_(sampled_lines(shape.n, seed + 1)) {
    const std::size_t width = cols_.size();
    std::vector<double> columns(std::size_t(shape.k) * width);  // the sampled columns of B, contiguous
    for (int i = 0; i < shape.k; ++i)
      for (std::size_t j = 0; j < width; ++j) columns[i * width + j] = b[std::size_t(i) * shape.n + cols_[j]];
    product_.assign(rows_.size() * width, 0);
    magnitude_.assign(rows_.size() * width, 0);
#pragma omp parallel for
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (int i = 0; i < shape.k; ++i) {
        const double factor = a[std::size_t(rows_[r]) * shape.k + i];
        for (std::size_t j = 0; j < width; ++j) {
          const double term = factor * columns[i * width + j];
          product_[r * width + j] += term;
          magnitude_[r * width + j] += std::abs(term);
        }
      }
  }

  /// Componentwise: |C - AB| <= gamma_{k+2} |A||B|. And by norm, which sees an error that the first bound, growing
  /// with k, lets pass: |C - AB|_F / (sqrt(k + 2) |A||B|_F) must stay below the unit roundoff. Exact inputs: equal.
  Check judge(const float* c, Fill fill) const {
    Check check;
    const double gamma = gamma_fp32(shape_.k + 2.0);
    double error_square = 0, bound_square = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t j = 0; j < cols_.size(); ++j) {
        const double want = product_[r * cols_.size() + j], magnitude = magnitude_[r * cols_.size() + j];
        const double got = c[std::size_t(rows_[r]) * shape_.n + cols_[j]];
        const double error = std::abs(got - want);
        const double bound = fill == Fill::integers ? 0 : gamma * magnitude;
        if (!(error <= bound)) {  // written so that NaN fails
          check.failure = element(rows_[r], cols_[j], got, want);
          return check;
        }
        if (bound > 0) check.max_error_ratio = std::max(check.max_error_ratio, error / bound);
        error_square += error * error;
        bound_square += magnitude * magnitude;
      }
    const double relative = std::sqrt(error_square / std::max(bound_square, 1e-300) / (shape_.k + 2.0));
    if (!(relative < 0x1p-24))
      check.failure = "the norm of the error is " + std::to_string(relative * 0x1p24) +
                      " times the unit roundoff: less than FP32 was used";
    return check;
  }

 private:
  MatmulShape shape_;
  std::vector<int> rows_, cols_;
  std::vector<double> product_, magnitude_;
};

/// Freivalds' check, exact for integers: C x = A (B x). A wrong element anywhere in a row changes the row's sum for all
/// but one in 2^20 of the vectors x. The sums are exact: at most 64 k n 2^19, typically far less, against 2^53.
class RowSums {
 public:
  RowSums(const MatmulShape& shape, std::uint64_t seed, const float* a, const float* b) : shape_(shape), x_(shape.n) {
    for (int i = 0; i < shape.n; ++i) x_[i] = double(random_bits(seed, i) >> 44) - 0x1p19;
    expected_ = times_vector(a, shape.m, shape.k, times_vector(b, shape.k, shape.n, x_));
  }

  Check judge(const float* c) const {
    const std::vector<double> sums = times_vector(c, shape_.m, shape_.n, x_);
    for (int row = 0; row < shape_.m; ++row)
      if (!(sums[row] == expected_[row])) return {.failure = "row " + std::to_string(row) + " of C is wrong"};
    return {};
  }

 private:
  MatmulShape shape_;
  std::vector<double> x_, expected_;
};

/// "lda, beta": the sizes given that differ from a plain product's.
std::string unusual(const Params& sizes) {
  const auto [m, n, k] = matmul_shape(sizes);
  const Params plain{{"lda", k}, {"ldb", n}, {"ldc", n}, {"alpha", 1}, {"beta", 0}, {"shift", 0}};
  std::string names;
  for (const auto& [name, value] : plain)
    if (sizes.get(name, value) != value) names += (names.empty() ? "" : ", ") + name;
  return names;
}

Judge reference(const Params& sizes, Fill fill, std::uint64_t seed, std::span<const void* const> host) {
  const MatmulShape shape = matmul_shape(sizes);
  const auto* a = static_cast<const float*>(host[0]);
  const auto* b = static_cast<const float*>(host[1]);
  auto samples = std::make_shared<Samples>(shape, seed, a, b);
  std::shared_ptr<RowSums> sums;
  if (fill == Fill::integers) sums = std::make_shared<RowSums>(shape, seed + 2, a, b);
  return [=](std::span<const void* const> outputs) {
    const auto* c = static_cast<const float*>(outputs[2]);
    Check check = samples->judge(c, fill);
    return check.passed() && sums ? sums->judge(c) : check;
  };
}

/// One past the last byte of each range is not part of it.
bool overlaps(const void* x, std::size_t x_bytes, const void* y, std::size_t y_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(x), second = reinterpret_cast<std::uintptr_t>(y);
  return first < second + y_bytes && second < first + x_bytes;
}

const bool added = add_problem({
    .name = "matmul",
    .size_names = {"n", "m", "k"},
    .complete = complete,
    .brief = brief,
    .unusual = unusual,
    .operands = operands,
    .flops = [](const Params& p) { return matmul_flops(matmul_shape(p)); },
    .bytes_min =
        [](const Params& p) {
          const auto [m, n, k] = matmul_shape(p);
          return 4.0 * (double(m) * k + double(k) * n + double(m) * n);
        },
    .fill = fill_inputs,
    .reference = reference,
});

}  // namespace

void refuse_aliasing(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes, const void* c,
                     std::size_t c_bytes) {
  if (overlaps(a, a_bytes, c, c_bytes)) throw Error("C shares memory with A: give the product a place of its own");
  if (overlaps(b, b_bytes, c, c_bytes)) throw Error("C shares memory with B: give the product a place of its own");
}

}  // namespace rung
