/// What a kernel is asked to compute, shared by the CPU and the GPU side: operands, seeded inputs, a float64 oracle,
/// the useful operations and the compulsory bytes. One problem a file, declared once with add_problem().
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {

struct Operand {
  std::string name;
  std::size_t elements = 0;
  std::size_t element_bytes = 4;
  bool is_output = false;
  bool is_read = false;  ///< an output that is read, too: Problem::fill gives what it holds before the run
  bool is_input() const { return !is_output || is_read; }
  std::size_t bytes() const { return elements * element_bytes; }
};

/// Every byte of an output that is not read, before the run: a float32, a bfloat16 and a double of such bytes are NaN.
constexpr unsigned char kPoisonByte = 0xFF;

/// The two input sets of the verification. `integers`: small whole numbers, for which every correct kernel gives the
/// same exact result in any order. `random`: reals in [-1, 1], judged against a rounding-error bound and then timed.
enum class Fill { integers, random };

/// The verdict on one set of outputs. It passes if `failure` is empty and the ratio is at most 1.
struct Check {
  double max_error_ratio = 0;  ///< largest |error| / bound
  std::string failure;         ///< the first element that is wrong: where, what, what it should be
  bool passed() const { return failure.empty() && max_error_ratio <= 1; }
};

/// Judges outputs: gets one host pointer per operand, the inputs as given to Problem::reference.
using Judge = std::function<Check(std::span<const void* const> host)>;

/// A problem: pure functions of its sizes. `host` holds one pointer per operand, in the order of operands().
struct Problem {
  std::string name;
  std::vector<std::string> size_names;            ///< accepted size parameters: {"n", "m", "k", "lda"}
  std::vector<std::string> general_names;         ///< those of them that can be left out and are for general kernels
  std::function<Params(const Params&)> complete;  ///< all sizes from those given; throws Error for a bad one
  std::function<Params(const Params&)> brief;     ///< sizes as a point's name shows them
  /// What of these sizes only a kernel with is_general takes ("lda, beta"); empty, or not set, if every kernel does.
  std::function<std::string(const Params&)> unusual;
  std::function<std::vector<Operand>(const Params&)> operands;
  std::function<double(const Params&)> flops;      ///< useful floating-point operations
  std::function<double(const Params&)> bytes_min;  ///< each input read once, each output written once
  std::function<void(const Params&, Fill, std::uint64_t seed, std::span<void* const> host)> fill;  ///< the inputs
  /// Works out in float64 what is right for these inputs, once; the Judge then compares any kernel's outputs with it.
  std::function<Judge(const Params&, Fill, std::uint64_t seed, std::span<const void* const> host)> reference;
};

bool add_problem(Problem problem);
/// The problem called `name`; throws Error if there is none.
const Problem& find_problem(std::string_view name);

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

/// Fills `out` with whole numbers in [-8, 8] or reals in [-1, 1).
void fill_float(std::span<float> out, Fill fill, std::uint64_t seed);

/// Higham's gamma_n = n u / (1 - n u) for float32, u = 2^-24: the bound on n roundings.
double gamma_fp32(double n);

}  // namespace rung
