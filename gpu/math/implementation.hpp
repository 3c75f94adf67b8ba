/// Shared by all implementations of the functions: the kernel that evaluates them for their speed, the one for their
/// errors, and the two records. An implementation is a struct with
///   has(f)                whether it has the function
///   of<f>(x, y)           its result
///   bound<f>(x, y, want)  the documented bound of the absolute error if the exact result is `want`, or kNoBound
#pragma once

#include <bit>

#include "common/problem/math.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {

constexpr int kMathThreads = 256;

using MathElements = Choices<4, 1>;

/// Each thread keeps its arguments and sums in registers and accesses memory once, so that only the functions take
/// time. Several elements at a time are independent of each other: the latency of one hides that of another.
template <typename Implementation, MathFunction kFunction, int Elements>
__global__ void __launch_bounds__(kMathThreads)
    math_passes(const mem<float>* x, const mem<float>* y, mem<float>* total, std::int64_t n, int passes) {
  const std::int64_t first = std::int64_t{blockIdx.x} * (kMathThreads * Elements) + threadIdx.x;
  reg<float> at[Elements], with[Elements], sum[Elements];
  for (int j = 0; j < Elements; ++j) {
    const std::int64_t i = first + j * kMathThreads;
    at[j] = 1;
    with[j] = 1;
    sum[j] = 0;
    if (i < n) at[j] = x[i];
    if (kIsBinary<kFunction> && i < n) with[j] = y[i];
  }
#pragma unroll 1
  for (int pass = 0; pass < passes; ++pass)
    for (int j = 0; j < Elements; ++j) {
      sum[j] = __fadd_rn(sum[j], Implementation::template of<kFunction>(at[j], with[j]));
      at[j] = __fmul_rn(at[j], kMathNudge);
      if (kIsBinary<kFunction>) with[j] = __fmul_rn(with[j], kMathNudge);
    }
  for (int j = 0; j < Elements; ++j)
    if (first + j * kMathThreads < n) total[first + j * kMathThreads] = sum[j];
}

/// One thread per row. Neighbouring threads have neighbouring exponents, so that a warp seldom diverges.
template <typename Implementation, MathFunction kFunction>
__global__ void __launch_bounds__(kMathThreads)
    math_errors(mem<float>* worst, mem<double>* bound, mem<std::uint32_t>* counts, int log_n, int rows) {
  const int row = blockIdx.x * kMathThreads + threadIdx.x;
  if (row >= rows) return;
  const std::int64_t per_row = (std::int64_t{1} << log_n) / rows;
  MathErrors errors;
  for (std::int64_t i = row * per_row; i < (row + 1) * per_row; ++i) {
    const MathArguments argument = math_arguments<kFunction>(i, log_n);
    const float x = argument.x, y = argument.y;
    const reg<float> result = Implementation::template of<kFunction>(reg<float>(x), reg<float>(y));
    const double want = clipped(exact<kFunction>(x, y));
    errors.add(x, y, static_cast<float>(result), want, Implementation::template bound<kFunction>(x, y, want));
  }
  for (int kind = 0; kind < kMathWorst; ++kind) {
    worst[(kind * 3 + 0) * rows + row] = errors.worst[kind].x;
    worst[(kind * 3 + 1) * rows + row] = errors.worst[kind].y;
    worst[(kind * 3 + 2) * rows + row] = errors.worst[kind].result;
  }
  bound[row] = errors.bound;
  for (int count = 0; count < kMathCounts; ++count) counts[count * rows + row] = errors.counts[count];
}

inline std::string refuse_function(const Params& p, bool (*has)(MathFunction)) {
  return has(math_function(p)) ? "" : "has no such function";
}

/// The record of the kernel for speed. `record`: the implementation's name and texts; choose(params, act) passes the
/// implementation to act.
template <typename Choose>
bool add_math_speed(Kernel record, bool (*has)(MathFunction), const Choose& choose) {
  record.tunables.push_back({"elements", MathElements::values()});
  record.refuse = [has](const Params& p) { return refuse_function(p, has); };
  record.gpu.launch = [](const Params& p) {
    return Launch{{blocks_for(p.at("n"), kMathThreads * p.at("elements"))}, {kMathThreads}};
  };
  record.gpu.requested = [](const Params& p) {
    const double bytes = 4.0 * static_cast<double>(p.at("n"));
    return Traffic{.loaded = is_binary(math_function(p)) ? 2 * bytes : bytes, .stored = bytes};
  };
  record.run = [choose](const Call& call) {
    choose(call.params, [&]<typename Implementation>(Implementation) {
      with_math_function<Implementation>(math_function(call.params), [&](auto f) {
        MathElements::pick(call.params.at("elements"), [&](auto elements) {
          launch(call, math_passes<Implementation, f, elements>, call.operand<const mem<float>>(0),
                 call.operand<const mem<float>>(1), call.operand<mem<float>>(2), call.params.at("n"),
                 static_cast<int>(call.params.at("passes")));
        });
      });
    });
  };
  return add_gpu_kernel(std::move(record));
}

/// The same for the kernel for errors.
template <typename Choose>
bool add_math_error(Kernel record, bool (*has)(MathFunction), const Choose& choose) {
  record.name.replace(record.name.find("/math/"), 6, "/math_error/");
  record.refuse = [has](const Params& p) { return refuse_function(p, has); };
  record.gpu.launch = [](const Params& p) {
    return Launch{{blocks_for(math_error_rows(p), kMathThreads)}, {kMathThreads}};
  };
  record.gpu.requested = [](const Params& p) {
    const auto rows = static_cast<double>(math_error_rows(p));
    return Traffic{.loaded = 0, .stored = rows * (4 * kMathWorst * 3 + 8 + 4 * kMathCounts)};
  };
  record.run = [choose](const Call& call) {
    choose(call.params, [&]<typename Implementation>(Implementation) {
      with_math_function<Implementation>(math_function(call.params), [&](auto f) {
        if constexpr (f != MathFunction::none)
          launch(call, math_errors<Implementation, f>, call.operand<mem<float>>(0), call.operand<mem<double>>(1),
                 call.operand<mem<std::uint32_t>>(2), std::countr_zero(static_cast<std::uint64_t>(call.params.at("n"))),
                 static_cast<int>(math_error_rows(call.params)));
      });
    });
  };
  return add_gpu_kernel(std::move(record));
}

template <typename Choose>
bool add_math(const Kernel& record, bool (*has)(MathFunction), const Choose& choose) {
  return add_math_speed(record, has, choose) && add_math_error(record, has, choose);
}

/// For an implementation without tunables.
template <typename Implementation>
bool add_math(const Kernel& record) {
  return add_math(record, Implementation::has, [](const Params&, const auto& act) { act(Implementation{}); });
}

}  // namespace rung
