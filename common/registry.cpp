#include "common/registry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

namespace rung {
namespace {

std::map<std::string, Kernel>& records() {
  static std::map<std::string, Kernel> all;  // by name: the emulator's record of a kernel finds the CUDA one
  return all;
}

/// The part of "gpu/matmul/tiled" with this index.
std::string name_part(const std::string& name, int index) {
  std::size_t start = 0;
  for (; index > 0; --index) start = name.find('/', start) + 1;
  return name.substr(start, name.find('/', start) - start);
}

/// Whether `text` matches a pattern in which '*' stands for any characters and '?' for one.
bool matches(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (std::size_t skip = 0; skip <= text.size(); ++skip)
      if (matches(pattern.substr(1), text.substr(skip))) return true;
    return false;
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && matches(pattern.substr(1), text.substr(1));
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, replaced}));
    }
  }
  return row.back();
}

[[noreturn]] void unknown_kernel(std::string_view name) {
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels()) names.push_back(kernel.name);
  throw Error("no kernel is called '" + std::string(name) + "'" + did_you_mean(name, names) +
              "; `rung list` shows them all");
}

}  // namespace

const std::int64_t* Params::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

std::int64_t Params::at(std::string_view name) const {
  if (const std::int64_t* value = find(name)) return *value;
  throw Error("'" + std::string(name) + "' is not given");
}

std::int64_t Params::get(std::string_view name, std::int64_t otherwise) const {
  const std::int64_t* value = find(name);
  return value ? *value : otherwise;
}

bool Params::has(std::string_view name) const { return find(name); }

void Params::set(std::string_view name, std::int64_t value) {
  for (auto& [key, old] : entries_)
    if (key == name) {
      old = value;
      return;
    }
  entries_.emplace_back(name, value);
}

std::string Params::text() const {
  std::string out;
  for (const auto& [key, value] : entries_) out += (out.empty() ? "" : "/") + key + ":" + std::to_string(value);
  return out;
}

std::string Kernel::side() const { return name_part(name, 0); }
std::string Kernel::family() const { return name_part(name, 1); }

bool add_kernel(Kernel kernel) {
  if (std::count(kernel.name.begin(), kernel.name.end(), '/') != 2)
    throw std::logic_error("kernel '" + kernel.name + "': a name is side/family/variant");
  auto [place, is_new] = records().try_emplace(kernel.name, kernel);
  if (is_new) return true;
  Kernel& known = place->second;
  const bool completes =
      !(known.run && kernel.run) && !(known.emulate && kernel.emulate) && !(known.answer && kernel.answer);
  if (!completes) throw std::logic_error("two kernels are called '" + kernel.name + "'");
  if (kernel.run) known.run = std::move(kernel.run);
  if (kernel.emulate) known.emulate = std::move(kernel.emulate);
  if (kernel.answer) known.answer = std::move(kernel.answer);
  return true;
}

const std::vector<Kernel>& kernels() {
  static const std::vector<Kernel> sorted = [] {
    std::vector<Kernel> all;
    for (const auto& [name, kernel] : records()) all.push_back(kernel);
    std::sort(all.begin(), all.end(), [](const Kernel& a, const Kernel& b) {
      return std::make_tuple(a.side(), a.family(), a.order, a.name) <
             std::make_tuple(b.side(), b.family(), b.order, b.name);
    });
    return all;
  }();
  if (sorted.empty()) throw Error("no kernel is registered: link the kernels as object libraries, not as an archive");
  return sorted;
}

const Kernel& find_kernel(std::string_view name) {
  for (const Kernel& kernel : kernels())
    if (kernel.name == name) return kernel;
  unknown_kernel(name);
}

std::vector<const Kernel*> match_kernels(std::string_view pattern) {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels())
    if (matches(pattern, kernel.name)) found.push_back(&kernel);
  if (found.empty()) unknown_kernel(pattern);
  return found;
}

std::string nearest(std::string_view wrong, std::span<const std::string> names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(3, wrong.size() / 3) + 1;
  for (const std::string& name : names)
    if (const std::size_t distance = edit_distance(wrong, name); distance < least) {
      least = distance;
      best = name;
    }
  return best;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> names) {
  const std::string near = nearest(wrong, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

Params with_tunables(const Kernel& kernel, const Params& given) {
  Params chosen;
  for (const Tunable& tunable : kernel.tunables) {
    const std::int64_t value = given.has(tunable.name) ? given.at(tunable.name) : tunable.standard();
    if (std::find(tunable.values.begin(), tunable.values.end(), value) == tunable.values.end()) {
      std::string allowed;
      for (const std::int64_t v : tunable.values) allowed += (allowed.empty() ? "" : ", ") + std::to_string(v);
      throw Error(kernel.name + ": " + tunable.name + " = " + std::to_string(value) + " is not one of " + allowed);
    }
    chosen.set(tunable.name, value);
  }
  return chosen;
}

}  // namespace rung
