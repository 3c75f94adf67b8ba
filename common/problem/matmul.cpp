/// The oracle of the matrix product: exact where the inputs are integers, a rounding-error bound where they are real.
#include "common/problem/matmul.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <set>

#include "common/problem/problem.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

constexpr std::int64_t kSizeLimit = 32768;     // so that every element's index fits a 32-bit int,
constexpr std::int64_t kLeadingLimit = 65535;  // with rows this far apart, too
constexpr std::int64_t kFactorLimit = 8;       // keeps the integers exact: 8 x 64 k is at most 2^24
constexpr std::size_t kOutputBytes = 4;        // of an element of C, float32 or int32
constexpr int kFullCompare = 256;              // up to this size every element is compared
constexpr double kUnitsByNorm = 3;             // of a unit that rounds short sums: by how many the norm may be off

/// A matrix of `rows` rows of `width` elements, `ld` apart, behind `shift` elements.
struct Layout {
  std::int64_t rows = 0, width = 0, ld = 0, shift = 0;
  std::size_t elements() const { return static_cast<std::size_t>(shift + (rows - 1) * ld + width); }
  std::size_t at(std::int64_t row, std::int64_t col) const { return static_cast<std::size_t>(shift + row * ld + col); }

  /// Calls use(first, count) for each run of elements that are not the matrix's.
  template <typename Use>
  void each_gap(const Use& use) const {
    if (shift > 0) use(std::size_t{0}, static_cast<std::size_t>(shift));
    for (std::int64_t row = 0; row + 1 < rows && ld > width; ++row)
      use(at(row, width), static_cast<std::size_t>(ld - width));
  }
};

/// The problem: C = alpha A B + beta C, and where the matrices lie.
struct Product {
  int m = 0, n = 0, k = 0;
  double alpha = 1, beta = 0;
  Layout a, b, c;
  bool a_by_columns = false, b_by_columns = false;

  /// Where element (row, col) of A is, and of B.
  std::size_t at_a(std::int64_t row, std::int64_t col) const { return a_by_columns ? a.at(col, row) : a.at(row, col); }
  std::size_t at_b(std::int64_t row, std::int64_t col) const { return b_by_columns ? b.at(col, row) : b.at(row, col); }
};

constexpr const char* kLayouts[] = {"nn", "nt", "tn"};  // in the order of MatmulLayout

/// The value of each size that can be left out.
Params defaults(const Params& sizes, Type type) {
  const auto [m, n, k] = matmul_shape(sizes);
  const MatmulLayout layout = layout_of(sizes, type);
  return {{"layout", layout_value(usual_layout(type))},
          {"lda", has_a_by_columns(layout) ? m : k},
          {"ldb", has_b_by_columns(layout) ? k : n},
          {"ldc", n},
          {"alpha", 1},
          {"beta", 0},
          {"shift", 0}};
}

Product product_of(const Params& sizes, Type type) {
  const auto [m, n, k] = matmul_shape(sizes);
  const Params plain = defaults(sizes, type);
  const MatmulLayout layout = layout_of(sizes, type);
  const bool a_by_columns = has_a_by_columns(layout), b_by_columns = has_b_by_columns(layout);
  const auto value = [&](const char* name) { return sizes.get(name, plain.at(name)); };
  const std::int64_t shift = value("shift");
  return {.m = m,
          .n = n,
          .k = k,
          .alpha = static_cast<double>(value("alpha")),
          .beta = static_cast<double>(value("beta")),
          .a = {a_by_columns ? k : m, a_by_columns ? m : k, value("lda"), shift},
          .b = {b_by_columns ? n : k, b_by_columns ? k : n, value("ldb"), shift},
          .c = {m, n, value("ldc"), shift},
          .a_by_columns = a_by_columns,
          .b_by_columns = b_by_columns};
}

void require_range(const std::string& name, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value < least || value > most)
    throw Error("size " + name + " = " + std::to_string(value) + " is outside " + std::to_string(least) + ".." +
                std::to_string(most));
}

/// The shape, then what was given and differs from the plain product's.
Params complete(const Params& given, Type type) {
  Params sizes{{"m", positive_size(given, "m", "n", kSizeLimit)},
               {"n", positive_size(given, "n", "n", kSizeLimit)},
               {"k", positive_size(given, "k", "n", kSizeLimit)}};
  if (const Value usual = layout_value(usual_layout(type)); given.has("layout") && given.at("layout") != usual.number) {
    require_range("layout", given.at("layout"), 0, std::size(kLayouts) - 1);
    sizes.set("layout", layout_value(layout_of(given, type)));
  }
  for (const auto& [name, usual_value] : defaults(sizes, type)) {
    const std::int64_t usual = usual_value.number, value = given.get(name, usual);
    if (name == "layout") continue;
    if (name == "shift")
      require_range(name, value, 0, kMostShift);
    else if (name == "alpha" || name == "beta")
      require_range(name, value, -kFactorLimit, kFactorLimit);
    else
      require_range(name, value, usual, kLeadingLimit);
    if (value != usual) sizes.set(name, value);
  }
  return sizes;
}

Params brief(const Params& sizes, Type type) {
  const auto [m, n, k] = matmul_shape(sizes);
  Params shown = m == n && n == k ? Params{{"n", n}} : Params{{"m", m}, {"n", n}, {"k", k}};
  for (const auto& [name, usual] : defaults(sizes, type))
    if (sizes.get(name, usual.number) != usual.number) shown.set(name, sizes.value(name));
  return shown;
}

/// "lda, beta": the sizes for general kernels that differ from a plain product's.
std::string unusual(const Params& sizes, Type type) {
  std::string names;
  for (const auto& [name, usual] : defaults(sizes, type))
    if (name != "layout" && sizes.get(name, usual.number) != usual.number) names += (names.empty() ? "" : ", ") + name;
  return names;
}

std::vector<Operand> operands(const Params& sizes, const MatmulInputs& format) {
  const Product p = product_of(sizes, format.type);
  return {{p.a_by_columns ? "A^T" : "A", p.a.elements(), format.type},
          {p.b_by_columns ? "B^T" : "B", p.b.elements(), format.type},
          {"C", p.c.elements(), format.output, p.beta == 0 ? Role::output : Role::in_out}};
}

/// Operations of the product, of scaling it, and of scaling C and adding it.
double useful_flops(const Params& sizes) {
  const Product p = product_of(sizes, Type::fp32);
  const double elements = double(p.m) * p.n;
  return (p.alpha == 0 ? 0 : matmul_flops({p.m, p.n, p.k})) + (p.alpha == 0 || p.alpha == 1 ? 0 : elements) +
         (p.beta == 0 ? 0 : 2 * elements);
}

double compulsory_bytes(const Params& sizes, std::size_t input_bytes) {
  const Product p = product_of(sizes, Type::fp32);
  const double inputs = p.alpha == 0 ? 0 : double(p.m) * p.k + double(p.k) * p.n;
  return static_cast<double>(input_bytes) * inputs + sizeof(float) * double(p.m) * p.n * (p.beta == 0 ? 1 : 2);
}

/// Whole numbers from `least` to `most`.
void fill_whole(std::span<float> out, int least, int most, std::uint64_t seed) {
  const auto count = static_cast<std::int64_t>(out.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < count; ++i)
    out[i] = static_cast<float>(least + static_cast<int>(random_bits(seed, i) % (most - least + 1)));
}

const DataSet kScaled{"scaled", "reals in [-1, 1), each row and each column times a power of two from -20 to 20"};
const DataSet kCancelling{"cancelling", "reals in [-1, 1), of whose products the second half cancels the first"};

/// Which of the factors a matrix is. Its lines along k are its rows if `k_is_row` is not set.
struct Factor {
  bool is_b = false, k_is_row = false;
};

/// Multiplies each row and each column by a power of two.
void scale(const Layout& layout, std::span<float> numbers, std::uint64_t seed) {
  const auto power = [&](std::uint64_t stream, std::int64_t i) {
    return static_cast<int>(random_bits(seed + stream, i) % 41) - 20;
  };
  std::vector<float> factor(layout.width);
  for (std::int64_t col = 0; col < layout.width; ++col) factor[col] = std::ldexp(1.0f, power(1u << 20, col));
#pragma omp parallel for
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    const float of_row = std::ldexp(1.0f, power(1u << 21, row));
    for (std::int64_t col = 0; col < layout.width; ++col) numbers[layout.at(row, col)] *= of_row * factor[col];
  }
}

/// The second half of the numbers along k repeats the first half: in B negated, and off by 2^-12 at most.
void cancel(const Layout& layout, Factor factor, std::span<float> numbers, std::uint64_t seed) {
  const std::int64_t rows = factor.k_is_row ? layout.rows / 2 : layout.rows;
  const std::int64_t cols = factor.k_is_row ? layout.width : layout.width / 2;
#pragma omp parallel for
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t col = 0; col < cols; ++col) {
      const double off = double(random_bits(seed + (1u << 20), row * cols + col) >> 40) * 0x1p-36;
      const float number = numbers[layout.at(row, col)];
      numbers[factor.k_is_row ? layout.at(rows + row, col) : layout.at(row, cols + col)] =
          factor.is_b ? -number * static_cast<float>(1 + off) : number;
    }
}

/// Numbers in the matrix, in the format of the inputs or as float32, and NaN around them (or, in int8, -1).
void fill_matrix(const Layout& layout, const MatmulInputs& format, void* to, const DataSet& data, std::uint64_t seed,
                 Factor factor = {}) {
  const std::size_t count = layout.elements();
  const auto fill = [&](std::span<float> numbers) {
    if (data.is_exact && (format.least != -8 || format.most != 8))
      fill_whole(numbers, format.least, format.most, seed);
    else
      fill_float(numbers, data, seed);
    if (data.name == kScaled.name) scale(layout, numbers, seed);
    if (data.name == kCancelling.name) cancel(layout, factor, numbers, seed);
  };
  if (format.round) {
    std::vector<float> numbers(count);
    fill(numbers);
    format.round(numbers, to);
  } else {
    fill({static_cast<float*>(to), count});
  }
  layout.each_gap([&](std::size_t first, std::size_t gap) {
    std::memset(static_cast<char*>(to) + first * type_bytes(format.type), kPoisonByte, gap * type_bytes(format.type));
  });
}

void fill_operands(const Product& p, const MatmulInputs& format, const DataSet& data, std::uint64_t seed,
                   std::span<void* const> host) {
  fill_matrix(p.a, format, host[0], data, seed * 2, {.k_is_row = p.a_by_columns});
  fill_matrix(p.b, format, host[1], data, seed * 2 + 1, {.is_b = true, .k_is_row = !p.b_by_columns});
  if (p.beta == 0) return;
  MatmulInputs output{.type = format.output};
  if (format.output == Type::int32)
    output.round = [](std::span<const float> from, void* to) {
      std::transform(from.begin(), from.end(), static_cast<std::int32_t*>(to), [](float x) { return std::int32_t(x); });
    };
  fill_matrix(p.c, output, host[2], data, ~seed);
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

/// What a product takes of an element: itself, its size, its square.
constexpr auto kItself = [](double element) { return element; };
constexpr auto kSize = [](double element) { return std::abs(element); };
constexpr auto kSquare = [](double element) { return element * element; };

/// y = M x in float64, where M has `of` each element of the matrix.
template <typename Element, typename Of = decltype(kItself)>
std::vector<double> times_vector(const Element* matrix, const Layout& layout, const std::vector<double>& x,
                                 const Of& of = kItself) {
  std::vector<double> y(layout.rows);
#pragma omp parallel for
  for (std::int64_t row = 0; row < layout.rows; ++row) {
    const Element* line = matrix + layout.at(row, 0);
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (std::int64_t col = 0; col < layout.width; ++col) sum += of(double(line[col])) * x[col];
    y[row] = sum;
  }
  return y;
}

/// y = M^T x in float64, likewise. Each thread adds up columns of its own, row after row.
template <typename Element, typename Of = decltype(kItself)>
std::vector<double> transposed_times_vector(const Element* matrix, const Layout& layout, const std::vector<double>& x,
                                            const Of& of = kItself) {
  constexpr std::int64_t kColumns = 512;
  std::vector<double> y(layout.width);
#pragma omp parallel for
  for (std::int64_t first = 0; first < layout.width; first += kColumns)
    for (std::int64_t row = 0; row < layout.rows; ++row) {
      const Element* line = matrix + layout.at(row, 0);
      for (std::int64_t col = first; col < std::min(layout.width, first + kColumns); ++col)
        y[col] += of(double(line[col])) * x[row];
    }
  return y;
}

/// y = M x, where M is stored by columns or by rows.
template <typename Element, typename Of = decltype(kItself)>
std::vector<double> times(bool by_columns, const Element* matrix, const Layout& layout, const std::vector<double>& x,
                          const Of& of = kItself) {
  return by_columns ? transposed_times_vector(matrix, layout, x, of) : times_vector(matrix, layout, x, of);
}

/// The largest |element|.
template <typename Element>
double largest(const Element* matrix, const Layout& layout) {
  double most = 0;
#pragma omp parallel for reduction(max : most)
  for (std::int64_t row = 0; row < layout.rows; ++row)
    for (std::int64_t col = 0; col < layout.width; ++col)
      most = std::max(most, std::abs(double(matrix[layout.at(row, col)])));
  return most;
}

std::string element(int row, int col, double got, double want) {
  return "C[" + std::to_string(row) + "][" + std::to_string(col) + "] is " + std::to_string(got) + ", not " +
         std::to_string(want);
}

/// The float64 result at sampled rows and columns, and |alpha||A||B| and |beta||C| there for the bounds; then the
/// comparison with it. With alpha = 0, A and B are not read; with beta = 0, C is not.
class Samples {
 public:
  template <typename Output>
  Samples(const Product& p, std::uint64_t seed, const float* a, const float* b, const Output* c,
          const MatmulInputs& format)
      : p_(p),
        slack_(format.slack),
        unit_(format.unit),
        terms_(format.terms),
        rows_(sampled_lines(p.m, seed)),
        cols_(sampled_lines(p.n, seed + 1)) {
    want_.assign(rows_.size() * cols_.size(), 0);
    product_magnitude_ = output_magnitude_ = want_;
    if (p.alpha != 0) add_product(a, b);
    if (p.beta != 0) add_output(c);
    const double terms = std::sqrt(p.k * (p.k + 2.0));
    if (p.alpha != 0) largest_magnitude_ += terms * std::abs(p.alpha) * largest(a, p.a) * largest(b, p.b);
    if (p.beta != 0) largest_magnitude_ += 2 * std::abs(p.beta) * largest(c, p.c);
  }

  /// Componentwise: |error| <= gamma_{k+2} (|alpha||A||B| + |beta||C|). And by norm, which sees an error that the first
  /// bound, growing with k, lets pass: |error|_F stays below the unit roundoff times sqrt(k + 2) |alpha||A||B|_F +
  /// 2 |beta||C|_F. That holds for roundings on average, so it is not required of a few elements. Exact inputs: equal.
  /// Values that are not finite must be the same, or NaN where NaN is right. The largest |error| / (|alpha||A||B| +
  /// |beta||C|) is reported as "largest_error".
  ///
  /// Fast algorithms spread the errors of large elements to small ones, so that only the largest error has a bound: for
  /// the definition k^2 units of |alpha| max|A| max|B|, or k with random roundings (Higham, Mary: A New Approach to
  /// Probabilistic Rounding Error Analysis, 2019). That, and 2 |beta| max|C|, is the bound by norm.
  ///
  /// A unit that rounds short sums more coarsely truncates each of their terms, and the sum itself with every
  /// instruction of 32 terms or more, to `unit` of what is no larger than the sum of the terms' sizes: terms + 8 times
  /// at most. Short sums have the size of the result on average; truncation within 128 terms adds up to about 1 unit of
  /// it, within 512 to 2.3, and over all 8192 to 16.
  template <typename Output>
  Check judge(const Output* c, bool is_exact) const {
    Check check;
    const double coarse = unit_ > 0 ? std::min(p_.k, terms_) + 8.0 : 0;
    const double gamma = is_exact ? 0 : slack_ * gamma_fp32(p_.k + 2.0) + unit_ * coarse;
    double error_square = 0, product_square = 0, output_square = 0, want_square = 0;
    double largest_error = 0, largest_relative = 0;
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t j = 0; j < cols_.size(); ++j) {
        const std::size_t i = r * cols_.size() + j;
        const double want = want_[i], got = c[p_.c.at(rows_[r], cols_[j])];
        if (!std::isfinite(want)) {
          if (got == want || (std::isnan(want) && std::isnan(got))) continue;
          return {.failure = element(rows_[r], cols_[j], got, want)};
        }
        const double error = std::abs(got - want);
        const double magnitude = product_magnitude_[i] + output_magnitude_[i], bound = gamma * magnitude;
        if (std::isnan(error) || (error > 0 && bound == 0)) return {.failure = element(rows_[r], cols_[j], got, want)};
        if (error > bound && check.beyond.empty()) check.beyond = element(rows_[r], cols_[j], got, want);
        if (bound > 0) check.max_error_ratio = std::max(check.max_error_ratio, error / bound);
        if (magnitude > 0) largest_relative = std::max(largest_relative, error / magnitude);
        largest_error = std::max(largest_error, error);
        error_square += error * error;
        product_square += product_magnitude_[i] * product_magnitude_[i];
        output_square += output_magnitude_[i] * output_magnitude_[i];
        want_square += want * want;
      }
    const double scale = std::sqrt((p_.k + 2.0) * product_square) + 2 * std::sqrt(output_square);
    const double allowed = slack_ * scale * 0x1p-24 + kUnitsByNorm * unit_ * std::sqrt(want_square);
    const double share = std::sqrt(error_square) / std::max(allowed, 1e-300);
    if (want_.size() >= kNormElements && !(share < 1)) {
      check.max_error_ratio = std::max(share, check.max_error_ratio);  // in this order NaN stays
      check.beyond = "the norm of the error is " + std::to_string(share) + " times what " +
                     (unit_ > 0 ? "sums of this precision" : "sums in FP32") + " have";
    }
    check.ratio_by_norm = largest_error > 0 ? largest_error / bound_by_norm() : 0;
    if (!is_exact) check.judged["largest_error"] = largest_relative;
    return check;
  }

  /// What ratio_by_norm is relative to.
  double bound_by_norm() const { return slack_ * 0x1p-24 * largest_magnitude_; }

 private:
  static constexpr std::size_t kNormElements = 64;

  void add_product(const float* a, const float* b) {
    const std::size_t width = cols_.size();
    std::vector<double> columns(std::size_t(p_.k) * width);  // the sampled columns of B, contiguous
    for (int i = 0; i < p_.k; ++i)
      for (std::size_t j = 0; j < width; ++j) columns[i * width + j] = b[p_.at_b(i, cols_[j])];
#pragma omp parallel for
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (int i = 0; i < p_.k; ++i) {
        const double factor = p_.alpha * a[p_.at_a(rows_[r], i)];
        for (std::size_t j = 0; j < width; ++j) {
          const double term = factor * columns[i * width + j];
          want_[r * width + j] += term;
          product_magnitude_[r * width + j] += std::abs(term);
        }
      }
  }

  template <typename Output>
  void add_output(const Output* c) {
    for (std::size_t r = 0; r < rows_.size(); ++r)
      for (std::size_t j = 0; j < cols_.size(); ++j) {
        const double term = p_.beta * c[p_.c.at(rows_[r], cols_[j])];
        want_[r * cols_.size() + j] += term;
        output_magnitude_[r * cols_.size() + j] += std::abs(term);
      }
  }

  Product p_;
  double slack_, unit_;
  int terms_;
  std::vector<int> rows_, cols_;
  std::vector<double> want_, product_magnitude_, output_magnitude_;
  double largest_magnitude_ = 0;
};

/// Every element of a product of reals, at the cost of products with vectors: C x is held against alpha A (B x) +
/// beta C x, and y C against alpha (y A) B + beta y C, where x and y have random signs that are drawn when the first
/// kernel has run (Freivalds, 1977). The errors e of a row then add up to at most kSigns |e|_2, whatever they are, but
/// once in 10^13 (Hoeffding, 1963); |e|_2 has the bound by norm that Samples::judge has, for the row alone, with
/// || |A||B| || of the row at most the sum of |a_i| times the norm of B's row i. What is not finite is left to Samples.
class Projections {
 public:
  template <typename Output>
  Projections(const Product& p, const float* a, const float* b, const Output* c, const MatmulInputs& format,
              double bound_by_norm)
      : p_(p),
        slack_(format.slack),
        unit_(format.unit),
        bound_by_norm_(bound_by_norm),
        rows_(p.n, p.m),
        cols_(p.m, p.n) {
    if (p.alpha != 0) {
      add_product(rows_, p.a_by_columns, a, p.a, p.b_by_columns, b, p.b);
      add_product(cols_, !p.b_by_columns, b, p.b, !p.a_by_columns, a, p.a);
    }
    if (p.beta != 0) {
      add_output(rows_, false, c);
      add_output(cols_, true, c);
    }
  }

  /// Adds to a check the verdict on the lines that differ most.
  template <typename Output>
  void judge(const Output* c, Check& check) const {
    judge(rows_, false, c, check);
    judge(cols_, true, c, check);
  }

 private:
  static constexpr double kSigns = 8;

  /// The lines in one direction: the signs, what they make of each line, and the norms of |alpha||A||B| and |beta||C|.
  struct Lines {
    Lines(int across, int count) : signs(across), want(count), product(count), output(count) {
      const std::uint64_t seed = fresh_bits();
      for (int i = 0; i < across; ++i) signs[i] = random_bits(seed, i) >> 63 ? 1 : -1;
    }
    std::vector<double> signs, want, product, output;
  };

  /// Lines of the product of `one`, in whose direction they lie, and `other`.
  void add_product(Lines& lines, bool one_turned, const float* one, const Layout& one_layout, bool other_turned,
                   const float* other, const Layout& other_layout) {
    const std::vector<double> want =
        times(one_turned, one, one_layout, times(other_turned, other, other_layout, lines.signs));
    const std::vector<double> ones(lines.signs.size(), 1);
    std::vector<double> norms = times(other_turned, other, other_layout, ones, kSquare);
    for (double& norm : norms) norm = std::sqrt(norm);
    const std::vector<double> sizes = times(one_turned, one, one_layout, norms, kSize);
    for (std::size_t i = 0; i < want.size(); ++i) {
      lines.want[i] += p_.alpha * want[i];
      lines.product[i] += std::abs(p_.alpha) * sizes[i];
    }
  }

  template <typename Output>
  void add_output(Lines& lines, bool turned, const Output* c) {
    const std::vector<double> want = times(turned, c, p_.c, lines.signs);
    const std::vector<double> squares = times(turned, c, p_.c, std::vector<double>(lines.signs.size(), 1), kSquare);
    for (std::size_t i = 0; i < want.size(); ++i) {
      lines.want[i] += p_.beta * want[i];
      lines.output[i] += std::abs(p_.beta) * std::sqrt(squares[i]);
    }
  }

  template <typename Output>
  void judge(const Lines& lines, bool turned, const Output* c, Check& check) const {
    const std::vector<double> got = times(turned, c, p_.c, lines.signs);
    std::vector<double> squares(got.size());
    if (unit_ > 0) squares = times(turned, c, p_.c, std::vector<double>(lines.signs.size(), 1), kSquare);
    const auto name = [&](std::size_t i) { return (turned ? "column " : "row ") + std::to_string(i) + " of C"; };
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (!std::isfinite(lines.want[i])) continue;
      const double error = std::abs(got[i] - lines.want[i]);
      const double norm = slack_ * 0x1p-24 * (std::sqrt(p_.k + 2.0) * lines.product[i] + 2 * lines.output[i]) +
                          kUnitsByNorm * unit_ * std::sqrt(squares[i]);
      if (std::isnan(error) || (error > 0 && norm == 0)) {
        if (check.failure.empty()) check.failure = name(i) + " is wrong";
        return;
      }
      if (error == 0) continue;
      const double ratio = error / (kSigns * norm);
      if (ratio > 1 && check.beyond.empty()) check.beyond = name(i) + " is not the product's";
      check.max_error_ratio = std::max(check.max_error_ratio, ratio);
      const double by_norm = error / (kSigns * std::sqrt(double(lines.signs.size())) * bound_by_norm_);
      check.ratio_by_norm = std::max(check.ratio_by_norm.value_or(0), by_norm);
    }
  }

  Product p_;
  double slack_, unit_, bound_by_norm_;
  Lines rows_, cols_;
};

/// Freivalds' check, exact for integers: C x = alpha A (B x) + beta (C x). A wrong element anywhere in a row changes
/// the row's sum for all but one in 2^20 of the vectors x. The sums are exact: at most 512 k n 2^19, typically far
/// less, against 2^53. (Numbers up to 128 are 256 times as much, 2^46 typically at the largest sizes.)
class RowSums {
 public:
  template <typename Output>
  RowSums(const Product& p, std::uint64_t seed, const float* a, const float* b, const Output* c)
      : p_(p), x_(p.n), expected_(p.m) {
    for (int i = 0; i < p.n; ++i) x_[i] = double(random_bits(seed, i) >> 44) - 0x1p19;
    if (p.alpha != 0) add(p.alpha, times(p.a_by_columns, a, p.a, times(p.b_by_columns, b, p.b, x_)));
    if (p.beta != 0) add(p.beta, times_vector(c, p.c, x_));
  }

  template <typename Output>
  Check judge(const Output* c) const {
    const std::vector<double> sums = times_vector(c, p_.c, x_);
    for (int row = 0; row < p_.m; ++row)
      if (!(sums[row] == expected_[row])) return {.failure = "row " + std::to_string(row) + " of C is wrong"};
    return {};
  }

 private:
  void add(double factor, const std::vector<double>& sums) {
    for (int row = 0; row < p_.m; ++row) expected_[row] += factor * sums[row];
  }

  Product p_;
  std::vector<double> x_, expected_;
};

/// Where something was written between the rows of C or before them; empty if nowhere.
std::string gap_failure(const Layout& layout, const void* c) {
  std::string failure;
  layout.each_gap([&](std::size_t first, std::size_t count) {
    const auto* bytes = static_cast<const unsigned char*>(c) + first * kOutputBytes;
    const auto* end = bytes + count * kOutputBytes;
    const auto* wrong = std::find_if(bytes, end, [](unsigned char byte) { return byte != kPoisonByte; });
    if (wrong != end && failure.empty())
      failure = "wrote to C outside its rows: element " + std::to_string(first + (wrong - bytes) / kOutputBytes) +
                " of its memory";
  });
  return failure;
}

/// The operand as float32: what is stored, or a copy of it in `kept`.
const float* as_float(const MatmulInputs& format, const Layout& layout, const void* stored, std::vector<float>& kept) {
  if (!format.widen) return static_cast<const float*>(stored);
  kept.resize(layout.elements());
  format.widen(stored, kept);
  return kept.data();
}

/// Which elements are compared, and the vectors of the projections, are drawn now, when the first kernel has run.
template <typename Output>
Judge judge_of(const Params& sizes, const MatmulInputs& format, const DataSet& data,
               std::span<const void* const> host) {
  const Product p = product_of(sizes, format.type);
  std::vector<float> wide_a, wide_b;
  const float *a = as_float(format, p.a, host[0], wide_a), *b = as_float(format, p.b, host[1], wide_b);
  const auto* before = static_cast<const Output*>(host[2]);
  auto samples = std::make_shared<Samples>(p, fresh_bits(), a, b, before, format);
  std::shared_ptr<RowSums> sums;
  std::shared_ptr<Projections> projections;
  if (data.is_exact)
    sums = std::make_shared<RowSums>(p, fresh_bits(), a, b, before);
  else if (std::max(p.m, p.n) > kFullCompare)
    projections = std::make_shared<Projections>(p, a, b, before, format, samples->bound_by_norm());
  return [=](std::span<const void* const> outputs) {
    const auto* c = static_cast<const Output*>(outputs[2]);
    Check check = samples->judge(c, data.is_exact);
    if (check.passed() && sums) check.failure = sums->judge(c).failure;
    if (check.failure.empty() && projections) projections->judge(c, check);
    if (check.failure.empty()) check.failure = gap_failure(p.c, c);
    return check;
  };
}

Judge reference(const Params& sizes, const MatmulInputs& format, const DataSet& data,
                std::span<const void* const> host) {
  return format.output == Type::int32 ? judge_of<std::int32_t>(sizes, format, data, host)
                                      : judge_of<float>(sizes, format, data, host);
}

/// One past the last byte of each range is not part of it.
bool overlaps(const void* x, std::size_t x_bytes, const void* y, std::size_t y_bytes) {
  const auto first = reinterpret_cast<std::uintptr_t>(x), second = reinterpret_cast<std::uintptr_t>(y);
  return first < second + y_bytes && second < first + x_bytes;
}

const bool added = [] {
  Problem problem = matmul_problem({});
  problem.widest_bounds = {.of_each = 4,
                           .by_norm = 20};  // sums of 3 to 9 products of shorter numbers; Strassen's, by norm
  return add_problem(std::move(problem));
}();

}  // namespace

Problem matmul_problem(const MatmulInputs& inputs) {
  const Type type = inputs.type;
  std::vector<DataSet> reals{random_reals()};
  if (type == Type::fp32) reals.insert(reals.end(), {kScaled, kCancelling});  // what 24 bits and this range are for
  const DataSet whole{
      .name = inputs.only_whole ? "random" : integers().name,
      .what = "whole numbers from " + std::to_string(inputs.least) + " to " + std::to_string(inputs.most),
      .is_exact = true};
  std::vector<DataSet> data{whole};
  using enum MatmulLayout;
  if (!inputs.only_whole) data.insert(data.end(), reals.begin(), reals.end());
  return {
      .family = "matmul",
      .type = type,
      .title = "Matrix multiplication",
      .data = data,
      .size_names = {"n", "m", "k", "layout", "lda", "ldb", "ldc", "alpha", "beta", "shift"},
      .size_words = {{"layout", {layout_value(nn), layout_value(nt), layout_value(tn)}}},
      .general_names = {std::begin(kGeneralSizes), std::end(kGeneralSizes)},
      .special_names = {"layout"},
      .test_sizes =
          {// In the type's usual layout the same as without it.
           {{"layout", layout_value(nn)}, {"m", 33}, {"n", 70}, {"k", 49}},
           {{"layout", layout_value(nt)}, {"m", 70}, {"n", 33}, {"k", 131}},
           {{"layout", layout_value(tn)}, {"m", 131}, {"n", 70}, {"k", 33}},
           {{"layout", layout_value(tn)}, {"m", 1}, {"n", 17}, {"k", 3}},
           {{"layout", layout_value(nn)}, {"m", 72}, {"n", 136}, {"k", 80}},
           {{"layout", layout_value(nt)}, {"m", 72}, {"n", 136}, {"k", 80}},
           {{"layout", layout_value(tn)}, {"m", 72}, {"n", 136}, {"k", 80}},
           {{"n", 1}},
           {{"n", 2}},
           {{"n", 17}},
           {{"n", 64}},
           {{"n", 129}},
           {{"m", 1}, {"n", 300}, {"k", 5}},
           {{"m", 300}, {"n", 1}, {"k", 5}},
           {{"m", 5}, {"n", 7}, {"k", 1}},
           {{"m", 3}, {"n", 2}, {"k", 1000}},
           {{"m", 257}, {"n", 65}, {"k", 130}},
           {{"m", 31}, {"n", 270}, {"k", 33}},
           {{"m", 1}, {"n", 33}, {"k", 16}},
           {{"m", 67}, {"n", 515}, {"k", 16}},
           // Rows of a multiple of four 16-bit numbers, which some kernels require.
           {{"m", 9}, {"n", 8}, {"k", 600}},
           {{"m", 67}, {"n", 264}, {"k", 72}}},
      .complete = [=](const Params& given) { return complete(given, type); },
      .brief = [=](const Params& sizes) { return brief(sizes, type); },
      .unusual = [=](const Params& sizes) { return unusual(sizes, type); },
      .operands = [=](const Params& sizes) { return operands(sizes, inputs); },
      .flops = useful_flops,
      .bytes_min = [=](const Params& sizes) { return compulsory_bytes(sizes, type_bytes(type)); },
      .fill = [=](const Params& sizes, const DataSet& data, std::uint64_t seed,
                  std::span<void* const> host) { fill_operands(product_of(sizes, type), inputs, data, seed, host); },
      .reference = [=](const Params& sizes, const DataSet& data, std::uint64_t,
                       std::span<const void* const> host) { return reference(sizes, inputs, data, host); },
  };
}

Value layout_value(MatmulLayout layout) {
  const auto place = static_cast<std::int64_t>(layout);
  return {place, kLayouts[place]};
}

void refuse_aliasing(const void* a, std::size_t a_bytes, const void* b, std::size_t b_bytes, const void* c,
                     std::size_t c_bytes) {
  if (overlaps(a, a_bytes, c, c_bytes)) throw Error("C shares memory with A: give the product a place of its own");
  if (overlaps(b, b_bytes, c, c_bytes)) throw Error("C shares memory with B: give the product a place of its own");
}

}  // namespace rung
