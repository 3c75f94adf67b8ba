#include "common/problem/problem.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "common/problem/trust.hpp"
#include "common/record_checks.hpp"

namespace rung {
namespace {

using Key = std::pair<std::string, Type>;

std::map<Key, Problem>& records() {
  static std::map<Key, Problem> all;
  return all;
}

std::string words_of(const Problem& problem) { return problem.family + " in " + type_name(problem.type); }

}  // namespace

std::string Check::reason() const {
  if (passed()) return "";
  if (!failure.empty()) return failure;
  const std::string times = fmt::format("the error is {:.3g} times its bound", max_error_ratio);
  return beyond.empty() ? times : beyond + ": " + times;
}

Check Check::within(const ErrorBound& bound) const {
  Check check = *this;
  if (bound.by_norm) {
    if (!ratio_by_norm && failure.empty())
      throw Error("a kernel is to be judged by norm, but its problem has no such bound");
    check.max_error_ratio = ratio_by_norm.value_or(0);
    check.beyond.clear();
  }
  check.max_error_ratio /= bound.factor;
  return check;
}

const DataSet& integers() {
  static const DataSet set{.name = "integers", .what = "whole numbers from -8 to 8", .is_exact = true};
  return set;
}

const DataSet& random_reals() {
  static const DataSet set{.name = "random", .what = "uniform reals in [-1, 1)"};
  return set;
}

Metric bandwidth() { return {.key = "gbytes_per_s", .unit = "GB/s"}; }

double Problem::compulsory_bytes(const Params& sizes) const {
  if (bytes_min) return bytes_min(sizes);
  double bytes = 0;
  for (const Operand& operand : operands(sizes)) bytes += static_cast<double>(operand.bytes());
  return bytes;
}

const DataSet& Problem::data_set(const std::string& name) const {
  std::vector<std::string> names;
  for (const DataSet& set : data) {
    if (set.name == name) return set;
    names.push_back(set.name);
  }
  throw Error(words_of(*this) + " has no data set '" + name + "'" + did_you_mean(name, names));
}

const DataSet& Problem::timed_data() const {
  for (const DataSet& set : data)
    if (!set.is_exact) return set;
  return data.front();
}

bool add_problem(Problem problem) {
  const Key key{problem.family, problem.type};
  const std::string what = words_of(problem);
  if (problem.data.empty() || problem.test_sizes.empty())
    throw std::logic_error(what + ": a problem has at least one data set and one test size");
  if (!records().try_emplace(key, std::move(problem)).second)
    throw std::logic_error("there are two problems for " + what);
  return true;
}

const Problem& find_problem(std::string_view family, Type type) {
  if (const auto found = records().find({std::string(family), type}); found != records().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [key, problem] : records()) names.push_back(key.first);
  throw Error("no problem is called '" + std::string(family) + "' in " + type_name(type) + did_you_mean(family, names));
}

const Problem& problem_of(const Kernel& kernel) { return find_problem(kernel.family(), kernel.type); }

namespace {

/// A call's sizes and tunables are found by name.
std::string tunable_refusal(const Kernel& kernel, const Problem& problem) {
  for (const Tunable& tunable : kernel.tunables)
    if (std::ranges::find(problem.size_names, tunable.name) != problem.size_names.end())
      return "its tunable '" + tunable.name + "' has the name of a size";
  return "";
}

const bool has_problem = add_record_check([](const Kernel& kernel) -> std::string {
  try {
    const Problem& problem = problem_of(kernel);
    const std::string reason = tunable_refusal(kernel, problem);
    return reason.empty() ? bound_refusal(kernel, problem) : reason;
  } catch (const Error& error) {
    return error.what();
  }
});

}  // namespace

void redraw_word(const Params&, std::uint64_t bits, void* element) {
  const auto word = static_cast<std::uint32_t>(bits >> 32);
  std::memcpy(element, &word, sizeof word);
}

Redraw redraw_between(double low, double high) {
  return [=](const Params&, std::uint64_t bits, void* element) {
    const auto number = static_cast<float>(low + (high - low) * static_cast<double>(bits >> 11) * 0x1p-53);
    std::memcpy(element, &number, sizeof number);
  };
}

namespace {

/// The record for FP32 of the same family, or the problem itself.
const Problem& main_problem(const Problem& problem) {
  for (const Problem* one : problems())
    if (one->family == problem.family && one->type == Type::fp32) return *one;
  return problem;
}

}  // namespace

const Redraw* redraw_of(const Problem& problem) {
  const Redraw& found = problem.redraw ? problem.redraw : main_problem(problem).redraw;
  return found ? &found : nullptr;
}

std::string bound_refusal(const Kernel& kernel, const Problem& problem) {
  const auto [factor, by_norm] = kernel.error_bound;
  const WidestBounds allowed = main_problem(problem).widest_bounds;
  const double widest = by_norm ? allowed.by_norm : allowed.of_each;
  if (factor > 0 && factor <= widest) return "";
  return fmt::format("its error_bound is {:g} times the one of {}{}, which allows {:g} times", factor,
                     words_of(problem), by_norm ? " by norm" : "", widest);
}

namespace {

std::map<const Problem*, std::string>& remembered_problems() {
  static std::map<const Problem*, std::string> all;
  return all;
}

/// The bytes of the record itself: names, and which functions it has.
std::string bytes_of(const Problem& problem) { return {reinterpret_cast<const char*>(&problem), sizeof problem}; }

}  // namespace

void remember_problems() {
  for (const Problem* problem : problems()) remembered_problems().try_emplace(problem, bytes_of(*problem));
}

bool is_as_remembered(const Problem& problem) {
  const auto found = remembered_problems().find(&problem);
  return found == remembered_problems().end() || found->second == bytes_of(problem);
}

std::vector<const Problem*> problems() {
  std::vector<const Problem*> all;
  for (const auto& [key, problem] : records()) all.push_back(&problem);
  return all;
}

std::string refusal(const Kernel& kernel, const Params& params) {
  const Problem& problem = problem_of(kernel);
  for (const std::string& name : problem.special_names)
    if (params.has(name) && std::count(kernel.takes.begin(), kernel.takes.end(), name) == 0)
      return fmt::format("does not take {} = {}: leave it out", name, params.value(name).text());
  if (!kernel.is_general && problem.unusual)
    if (const std::string sizes = problem.unusual(params); !sizes.empty())
      return "takes whole, aligned operands and no factors: leave out " + sizes;
  return kernel.refuse ? kernel.refuse(params) : "";
}

std::int64_t positive_size(const Params& given, std::string_view name, std::string_view fallback, std::int64_t limit) {
  const std::string key(given.has(name) ? name : fallback);
  if (!given.has(key)) throw Error("size '" + std::string(name) + "' is not given");
  const std::int64_t value = given.at(key);
  if (value < 1 || value > limit)
    throw Error("size " + key + " = " + std::to_string(value) + " is outside 1.." + std::to_string(limit));
  return value;
}

void fill_float(std::span<float> out, const DataSet& data, std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(out.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    out[i] = data.is_exact ? static_cast<float>(static_cast<int>(bits % 17) - 8)
                           : static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  }
}

std::string wrong_element(const std::string& name, std::int64_t index, double got, double want) {
  return fmt::format("{}[{}] is {:.9g}, not {:.9g}", name, index, got, want);
}

double gamma_fp32(double n) {
  constexpr double u = 0x1p-24;
  return n * u / (1 - n * u);
}

}  // namespace rung
