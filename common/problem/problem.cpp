#include "common/problem/problem.hpp"

#include <map>

namespace rung {
namespace {

std::map<std::string, Problem, std::less<>>& records() {
  static std::map<std::string, Problem, std::less<>> all;
  return all;
}

}  // namespace

bool add_problem(Problem problem) {
  const std::string name = problem.name;
  if (!records().try_emplace(name, std::move(problem)).second)
    throw std::logic_error("two problems are called '" + name + "'");
  return true;
}

const Problem& find_problem(std::string_view name) {
  if (const auto found = records().find(name); found != records().end()) return found->second;
  std::vector<std::string> names;
  for (const auto& [known, problem] : records()) names.push_back(known);
  throw Error("no problem is called '" + std::string(name) + "'" + did_you_mean(name, names));
}

std::string refusal(const Kernel& kernel, const Params& params) {
  const Problem& problem = find_problem(kernel.family());
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

void fill_float(std::span<float> out, Fill fill, std::uint64_t seed) {
  const auto n = static_cast<std::int64_t>(out.size());
#pragma omp parallel for
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = random_bits(seed, static_cast<std::uint64_t>(i));
    out[i] = fill == Fill::integers ? static_cast<float>(static_cast<int>(bits % 17) - 8)
                                    : static_cast<float>(bits >> 40) * 0x1p-23f - 1.0f;
  }
}

double gamma_fp32(double n) {
  constexpr double u = 0x1p-24;
  return n * u / (1 - n * u);
}

}  // namespace rung
