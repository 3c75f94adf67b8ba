/// Shared by all implementations of the functions on the CPU: the loop that evaluates them for their speed, the one for
/// their errors, and the two records. An implementation is a struct with
///   has(f)                       whether it has the function
///   of<f>(x, y, result)          the results of kMathBlock pairs of arguments
///   bound<f>(x, y, want)         the documented bound of the absolute error if the exact result is `want`, or
///                                kNoBound
#pragma once

#include <algorithm>
#include <bit>

#include "common/problem/math.hpp"

namespace rung {

/// Elements that are evaluated together: many vectors, and few enough for the L1 cache.
constexpr std::int64_t kMathBlock = 256;

struct alignas(64) MathBlock {
  float at[kMathBlock];

  /// The elements from `from` on, filled up with 1 to kMathBlock.
  void load(const float* from, std::int64_t count) {
    for (std::int64_t i = 0; i < kMathBlock; ++i) at[i] = i < count ? from[i] : 1;
  }
};

template <typename Implementation, MathFunction kFunction>
void math_passes(const float* x, const float* y, float* total, std::int64_t n, std::int64_t passes) {
#pragma omp parallel for schedule(static)
  for (std::int64_t first = 0; first < n; first += kMathBlock) {
    const std::int64_t count = std::min(kMathBlock, n - first);
    MathBlock at, with, result, sum = {};
    at.load(x + first, count);
    with.load(y + first, kIsBinary<kFunction> ? count : 0);
    for (std::int64_t pass = 0; pass < passes; ++pass) {
      Implementation::template of<kFunction>(at.at, with.at, result.at);
      for (std::int64_t i = 0; i < kMathBlock; ++i) {
        sum.at[i] += result.at[i];
        at.at[i] *= kMathNudge;
        if (kIsBinary<kFunction>) with.at[i] *= kMathNudge;
      }
    }
    std::copy_n(sum.at, count, total + first);
  }
}

/// The errors of one row's arguments.
template <typename Implementation, MathFunction kFunction>
MathErrors row_errors(std::int64_t begin, std::int64_t end, int log_n) {
  MathErrors errors;
  MathBlock x, y, result;
  for (std::int64_t first = begin; first < end; first += kMathBlock) {
    const std::int64_t count = std::min(kMathBlock, end - first);
    for (std::int64_t i = 0; i < kMathBlock; ++i) {
      const auto argument =
          math_arguments<kFunction>(static_cast<std::uint64_t>(first + std::min(i, count - 1)), log_n);
      x.at[i] = argument.x;
      y.at[i] = argument.y;
    }
    Implementation::template of<kFunction>(x.at, y.at, result.at);
    for (std::int64_t i = 0; i < count; ++i) {
      const double want = clipped(exact<kFunction>(x.at[i], y.at[i]));
      errors.add(x.at[i], y.at[i], result.at[i], want,
                 Implementation::template bound<kFunction>(x.at[i], y.at[i], want));
    }
  }
  return errors;
}

template <typename Implementation, MathFunction kFunction>
void math_errors(float* worst, double* bound, std::uint32_t* counts, std::int64_t n, std::int64_t rows) {
  const std::int64_t per_row = n / rows;
  const int log_n = std::countr_zero(static_cast<std::uint64_t>(n));
#pragma omp parallel for schedule(dynamic)  // large arguments of sin take longer than small ones
  for (std::int64_t row = 0; row < rows; ++row) {
    const MathErrors errors = row_errors<Implementation, kFunction>(row * per_row, (row + 1) * per_row, log_n);
    for (int kind = 0; kind < kMathWorst; ++kind) {
      worst[(kind * 3 + 0) * rows + row] = errors.worst[kind].x;
      worst[(kind * 3 + 1) * rows + row] = errors.worst[kind].y;
      worst[(kind * 3 + 2) * rows + row] = errors.worst[kind].result;
    }
    bound[row] = errors.bound;
    for (int count = 0; count < kMathCounts; ++count) counts[count * rows + row] = errors.counts[count];
  }
}

template <typename Implementation>
std::string refuse_function(const Params& p) {
  const MathFunction f = math_function(p);
  return Implementation::has(f) ? "" : "has no such function";
}

/// Adds `record`, for the speed, and a copy with `run_error`, for the errors.
inline bool add_both(Kernel record, decltype(Kernel::run) run_error) {
  Kernel error = record;
  error.name.replace(error.name.find("/math/"), 6, "/math_error/");
  error.run = std::move(run_error);
  return add_kernel(std::move(record)) && add_kernel(std::move(error));
}

/// Adds both kernels of an implementation that this build does not have. `reason`: what it would need.
inline bool add_absent_math(Kernel record, const std::string& reason) {
  record.refuse = [reason](const Params&) { return reason; };
  record.run = [reason](const Call&) { throw Error(reason); };
  return add_both(record, record.run);
}

/// Adds both kernels of an implementation. `record`: its name and texts.
template <typename Implementation>
bool add_math(Kernel record) {
  record.refuse = refuse_function<Implementation>;
  record.run = [](const Call& call) {
    with_math_function<Implementation>(math_function(call.params), [&](auto f) {
      math_passes<Implementation, f>(call.operand<const float>(0), call.operand<const float>(1), call.operand<float>(2),
                                     call.params.at("n"), call.params.at("passes"));
    });
  };
  return add_both(std::move(record), [](const Call& call) {
    with_math_function<Implementation>(math_function(call.params), [&](auto f) {
      if constexpr (f != MathFunction::none)
        math_errors<Implementation, f>(call.operand<float>(0), call.operand<double>(1), call.operand<std::uint32_t>(2),
                                       call.params.at("n"), math_error_rows(call.params));
    });
  });
}

}  // namespace rung
