/// What kernels compute, shared by the CPU and the GPU side: operands, seeded inputs, a float64 oracle, the useful
/// operations and the compulsory bytes. One problem a file, declared once with add_problem().
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {

/// Every byte of an output that is not read, before the run: a float32, a bfloat16 and a double of such bytes are NaN.
constexpr unsigned char kPoisonByte = 0xFF;

/// A named set of inputs. With exact inputs (small whole numbers, say) every correct kernel gives the same result in
/// any order of operations, so results must be equal; else they are judged against a bound on rounding errors.
struct DataSet {
  std::string name;
  std::string what;  ///< in a few words: "whole numbers from -8 to 8"
  bool is_exact = false;
};

/// The two data sets that most problems have: whole numbers in [-8, 8], and reals in [-1, 1), which are timed.
const DataSet& integers();
const DataSet& random_reals();

/// The verdict on one set of outputs. It passes if `failure` is empty and the ratio is at most 1.
struct Check {
  double max_error_ratio = 0;                 ///< largest |error| / bound
  std::string failure;                        ///< the first element that is wrong: where, what, what it should be
  std::string beyond = {};                    ///< if the ratio is above 1: where that was first seen
  std::optional<double> ratio_by_norm = {};   ///< the same by a bound of all elements together, if the problem has one
  std::map<std::string, double> judged = {};  ///< further values by name: "max_ulp", "order_of_convergence"
  bool passed() const { return failure.empty() && max_error_ratio <= 1; }
  /// Why it did not pass; empty if it did.
  std::string reason() const;
  /// The verdict by another bound. Throws Error if it is one by norm, and the problem has none.
  Check within(const ErrorBound& bound) const;
};

/// Judges outputs: receives one host pointer per operand, the inputs as given to Problem::reference.
using Judge = std::function<Check(std::span<const void* const> host)>;

/// The rate by which kernels of a problem are compared: `amount` in a second, in units of 10^9 if the unit says so.
struct Metric {
  std::string key = "gflops";  ///< of a result's entry
  std::string unit = "GFLOP/s";
  std::function<double(const Params&)> amount = {};  ///< of one run, in 1e9ths of the unit; empty for the useful FLOPs
};

/// GB/s of the compulsory bytes.
Metric bandwidth();

/// The largest factors that a kernel's record may have on its problem's bounds on errors, of each element and by norm:
/// what the least accurate known algorithm needs. 0: the problem has no such bound.
struct WidestBounds {
  double of_each = 1, by_norm = 0;
};

/// Writes to `element` of the first input another value that inputs of this problem may have, and that shows in the
/// result; drawn from `bits`.
using Redraw = std::function<void(const Params& sizes, std::uint64_t bits, void* element)>;
/// For inputs that may be any words.
void redraw_word(const Params& sizes, std::uint64_t bits, void* element);
/// For real numbers: any from `low` to `high`.
Redraw redraw_between(double low, double high);

/// A problem: pure functions of its sizes. `host` holds one pointer per operand, in the order of operands().
struct Problem {
  std::string family;      ///< "matmul": the second part of its kernels' names
  Type type = Type::fp32;  ///< of the inputs; one problem for each family and type
  std::string title;       ///< "Matrix multiplication"
  Metric metric = {};
  std::vector<DataSet> data = {integers(),
                               random_reals()};  ///< exact ones verify; the first that is not exact is timed
  std::vector<std::string> size_names;           ///< accepted size parameters: {"n", "m", "k", "lda"}
  std::map<std::string, std::vector<Value>> size_words = {};  ///< sizes that are words, with those they may be
  /// What a size counts, for tables, where its name does not say it: {"group", "threads in a row that go one way"}.
  std::map<std::string, std::string> size_what = {};
  std::vector<std::string> general_names = {};      ///< names that may be left out and are for general kernels
  std::vector<std::string> special_names = {};      ///< … and are for kernels that name them (Kernel::takes)
  std::vector<Params> test_sizes;                   ///< what every test runs its kernels at: 1, odd, rectangular …
  std::function<Params(const Params&)> complete;    ///< all sizes from those given; throws Error for a bad one
  std::function<Params(const Params&)> brief = {};  ///< sizes as a point's name shows them; all of them if not set
  /// Which of these sizes only a kernel with is_general takes ("lda, beta"); empty, or not set, if every kernel does.
  std::function<std::string(const Params&)> unusual = {};
  std::function<std::vector<Operand>(const Params&)> operands;
  std::function<double(const Params&)> flops;           ///< useful floating-point operations
  std::function<double(const Params&)> bytes_min = {};  ///< each input read once, each output written once; not set:
                                                        ///< the bytes of all operands
  std::function<void(const Params&, const DataSet&, std::uint64_t seed, std::span<void* const> host)> fill;
  /// Computes the expected result in float64, once; the Judge then compares any kernel's outputs with it.
  std::function<Judge(const Params&, const DataSet&, std::uint64_t seed, std::span<const void* const> host)> reference;
  /// For families whose result may not change if two inputs are swapped: the new values that an audit writes to some
  /// elements. If not set, the family's FP32 problem may have a rule.
  Redraw redraw = {};
  WidestBounds widest_bounds = {};  ///< read from the family's FP32 problem, if it has one

  double compulsory_bytes(const Params& sizes) const;
  Params brief_sizes(const Params& sizes) const { return brief ? brief(sizes) : sizes; }
  /// The data set called `name`; throws Error with the nearest name if there is none.
  const DataSet& data_set(const std::string& name) const;
  /// The data set that is timed unless a sweep names another one.
  const DataSet& timed_data() const;
};

bool add_problem(Problem problem);
/// The problem of this family and type; throws Error if there is none.
const Problem& find_problem(std::string_view family, Type type = Type::fp32);
/// The problem that a kernel solves.
const Problem& problem_of(const Kernel& kernel);
/// Every problem, by family and type.
std::vector<const Problem*> problems();

/// Why `kernel` does not take these sizes and tunables, by its own rule or since its problem's unusual sizes need a
/// general kernel; empty if it does.
std::string refusal(const Kernel& kernel, const Params& params);

/// The size `name` of `given` (or of `fallback`) as a positive whole number up to `limit`; throws Error otherwise.
std::int64_t positive_size(const Params& given, std::string_view name, std::string_view fallback, std::int64_t limit);

/// A fast, seeded, counter-based generator: the same value for (seed, index) on every machine and thread count.
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed * 0x9E3779B97F4A7C15ull + (index + 1) * 0xD1B54A32D192ED03ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

/// Fills `out` with whole numbers in [-8, 8] if the data set is exact, else with reals in [-1, 1).
void fill_float(std::span<float> out, const DataSet& data, std::uint64_t seed);

/// What one element of an output should be, and by how much it may be off.
struct Expected {
  double value = 0, bound = 0;
};

/// "y[3] is 1.5, not 2".
std::string wrong_element(const std::string& name, std::int64_t index, double got, double want);

/// Compares the first n elements of an output with what is expected. A bound of 0 requires equality; NaN fails; an
/// expected value that is not finite must be matched exactly. The first wrong element is the failure.
/// walk(i), for i a multiple of `step`, returns a function that is then called with i, i + 1, … up to the next
/// multiple, in this order, and returns an Expected: so it may use results for the elements before.
template <typename T, typename Walk>
Check compare_in_order(const std::string& name, const T* got, std::int64_t n, std::int64_t step, const Walk& walk) {
  std::int64_t first = n;
  double ratio = 0;
#pragma omp parallel for reduction(min : first) reduction(max : ratio)
  for (std::int64_t begin = 0; begin < n; begin += step) {
    auto expected = walk(begin);
    for (std::int64_t i = begin; i < std::min(begin + step, n); ++i) {
      const Expected want = expected(i);
      const double value = static_cast<double>(got[i]);
      const double error = std::abs(value - want.value);
      if (!(error <= want.bound) || std::isinf(error)) {  // seldom; written so that NaN comes here
        const bool is_finite = std::isfinite(want.value);
        const bool is_same = value == want.value || (std::isnan(value) && std::isnan(want.value));
        if (is_finite ? !(error <= want.bound) : !is_same) first = std::min(first, i);
        if (!is_finite || want.bound == 0 || std::isinf(want.bound)) continue;
      }
      if (error > ratio * want.bound) ratio = error / want.bound;  // seldom: divisions would take longest
    }
  }
  Check check{.max_error_ratio = ratio};
  if (first == n) return check;
  Expected want;
  auto expected = walk(first / step * step);
  for (std::int64_t i = first / step * step; i <= first; ++i) want = expected(i);
  check.failure = wrong_element(name, first, static_cast<double>(got[first]), want.value);
  return check;
}

/// The same with expected(i), which needs no order.
template <typename T, typename Function>
Check compare_elements(const std::string& name, const T* got, std::int64_t n, const Function& expected) {
  return compare_in_order(name, got, n, 256, [&](std::int64_t) { return [&](std::int64_t i) { return expected(i); }; });
}

/// Higham's gamma_n = n u / (1 - n u) for float32, u = 2^-24: the bound on n roundings.
double gamma_fp32(double n);

}  // namespace rung
