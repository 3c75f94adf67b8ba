#include "common/registry.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "common/record_checks.hpp"

namespace rung {
namespace {

struct KernelRecord {
  Kernel kernel;
  std::string fault;  ///< found when it was added
};

std::map<std::string, KernelRecord>& kernel_records() {
  static std::map<std::string, KernelRecord> all;  // by name: the emulator's record of a kernel finds the CUDA one
  return all;
}

std::vector<RecordCheck>& record_checks() {
  static std::vector<RecordCheck> all;
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
  std::size_t p = 0, t = 0;
  std::size_t after_star = std::string_view::npos,
              star_ends = 0;  // what the last '*' stands for ends there in the text
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      after_star = ++p;
      star_ends = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p, ++t;
    } else if (after_star != std::string_view::npos) {
      p = after_star;  // let it stand for one character more; no earlier '*' needs to be tried again
      t = ++star_ends;
    } else {
      return false;
    }
  }
  return pattern.find_first_not_of('*', p) == std::string_view::npos;
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

/// Without what every command would fail later, in words that name no kernel.
std::string incomplete(const Kernel& kernel) {
  const bool is_gpu = kernel.side() == "gpu";
  if (!is_gpu && kernel.side() != "cpu") return "its name begins with '" + kernel.side() + "', not with cpu or gpu";
  for (const Tunable& tunable : kernel.tunables)
    if (tunable.values.empty()) return "its tunable '" + tunable.name + "' has no values";
  if (!is_gpu) return kernel.run ? "" : "it has no .run";
  if (!kernel.gpu.launch && !kernel.is_library) return "it has no .gpu.launch: the shape of its launch";
  if (!kernel.gpu.requested && kernel.gpu.emulate)
    return "it has no .gpu.requested: the bytes that its code loads and stores, against which the emulator's are held";
  if (!kernel.run && !kernel.gpu.emulate && kernel.gpu.not_emulated.empty() && !kernel.is_library)
    return "it has no .run";
  return "";
}

std::string fault_of(const KernelRecord& record) {
  if (!record.fault.empty()) return record.fault;
  if (std::string reason = incomplete(record.kernel); !reason.empty()) return reason;
  for (const RecordCheck check : record_checks())
    if (std::string reason = check(record.kernel); !reason.empty()) return reason;
  return "";
}

struct Registry {
  std::vector<Kernel> accepted;
  std::vector<RefusedKernel> refused;
};

const Registry& registry() {
  static const Registry all = [] {
    Registry sorted;
    for (const auto& [name, record] : kernel_records()) {
      if (std::string reason = fault_of(record); !reason.empty())
        sorted.refused.push_back({name, std::move(reason)});
      else
        sorted.accepted.push_back(record.kernel);
    }
    std::sort(sorted.accepted.begin(), sorted.accepted.end(), [](const Kernel& a, const Kernel& b) {
      return std::make_tuple(a.side(), a.family(), a.order, a.name) <
             std::make_tuple(b.side(), b.family(), b.order, b.name);
    });
    return sorted;
  }();
  return all;
}

[[noreturn]] void unknown_kernel(std::string_view name) {
  for (const RefusedKernel* refused : match_refused(name))
    throw WrongResult(refused->name + " is refused: " + refused->reason);
  std::vector<std::string> names;
  for (const Kernel& kernel : kernels()) names.push_back(kernel.name);
  throw Error("no kernel is called '" + std::string(name) + "'" + did_you_mean(name, names) +
              "; `rung list` shows them all");
}

}  // namespace

const Value* Params::find(std::string_view name) const {
  for (const auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

const Value& Params::value(std::string_view name) const {
  if (const Value* value = find(name)) return *value;
  throw Error("'" + std::string(name) + "' is not given");
}

std::int64_t Params::get(std::string_view name, std::int64_t otherwise) const {
  const Value* value = find(name);
  return value ? value->number : otherwise;
}

bool Params::has(std::string_view name) const { return find(name); }

void Params::set(std::string_view name, Value value) {
  for (auto& [key, old] : entries_)
    if (key == name) {
      old = std::move(value);
      return;
    }
  entries_.emplace_back(name, std::move(value));
}

std::string Params::text() const {
  std::string out;
  for (const auto& [key, value] : entries_) out += (out.empty() ? "" : "/") + key + ":" + value.text();
  return out;
}

std::string Kernel::side() const { return name_part(name, 0); }
std::string Kernel::family() const { return name_part(name, 1); }

bool add_kernel(Kernel kernel) {
  auto [place, is_new] = kernel_records().try_emplace(kernel.name, KernelRecord{kernel, ""});
  auto& [known, fault] = place->second;
  if (std::count(kernel.name.begin(), kernel.name.end(), '/') != 2) fault = "a name is side/family/variant";
  if (is_new) return true;
  const auto fill_in = [&fault = fault](auto& place, auto& body) {
    if (place && body) fault = "two kernels have this name";
    if (body) place = std::move(body);
  };
  fill_in(known.run, kernel.run);
  fill_in(known.reset, kernel.reset);
  fill_in(known.gpu.emulate, kernel.gpu.emulate);
  fill_in(known.gpu.answer, kernel.gpu.answer);
  return true;
}

bool add_record_check(RecordCheck check) {
  record_checks().push_back(check);
  return true;
}

const std::vector<Kernel>& kernels() {
  const auto& [accepted, refused] = registry();
  if (accepted.empty() && refused.empty())
    throw Error("no kernel is registered: link the kernels as object libraries, not as an archive");
  return accepted;
}

const std::vector<RefusedKernel>& refused_kernels() { return registry().refused; }

std::vector<const RefusedKernel*> match_refused(std::string_view pattern) {
  std::vector<const RefusedKernel*> found;
  for (const RefusedKernel& refused : refused_kernels())
    if (matches(pattern, refused.name)) found.push_back(&refused);
  return found;
}

std::vector<const Kernel*> match_accepted(std::string_view pattern) {
  std::vector<const Kernel*> found;
  for (const Kernel& kernel : kernels())
    if (matches(pattern, kernel.name)) found.push_back(&kernel);
  if (found.empty() && match_refused(pattern).empty()) unknown_kernel(pattern);
  return found;
}

const Kernel& find_kernel(std::string_view name) {
  for (const Kernel& kernel : kernels())
    if (kernel.name == name) return kernel;
  unknown_kernel(name);
}

std::vector<const Kernel*> match_kernels(std::string_view pattern) {
  std::vector<const Kernel*> found = match_accepted(pattern);
  if (found.empty()) unknown_kernel(pattern);
  return found;
}

std::string nearest(std::string_view wrong, std::span<const std::string> names) {
  std::string best;
  std::size_t least = std::max<std::size_t>(3, wrong.size() / 3) + 1;
  for (const std::string& name : names) {
    if (std::max(wrong.size(), name.size()) - std::min(wrong.size(), name.size()) >= least) continue;
    if (const std::size_t distance = edit_distance(wrong, name); distance < least) {
      least = distance;
      best = name;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view wrong, std::span<const std::string> names) {
  const std::string near = nearest(wrong, names);
  return near.empty() ? "" : "; did you mean '" + near + "'?";
}

namespace {

/// The allowed value that `given` means: the one of the same word, or of the same number where values are numbers.
const Value* allowed_value(const Tunable& tunable, const Value& given) {
  for (const Value& value : tunable.values)
    if (value.text() == given.text()) return &value;
  return nullptr;
}

}  // namespace

Params with_tunables(const Kernel& kernel, const Params& given) {
  Params chosen;
  for (const Tunable& tunable : kernel.tunables) {
    const Value wanted = given.has(tunable.name) ? given.value(tunable.name) : tunable.standard();
    const Value* value = allowed_value(tunable, wanted);
    if (!value) {
      std::string allowed;
      for (const Value& v : tunable.values) allowed += (allowed.empty() ? "" : ", ") + v.text();
      throw Error(kernel.name + ": " + tunable.name + " = " + wanted.text() + " is not one of " + allowed);
    }
    chosen.set(tunable.name, *value);
  }
  return chosen;
}

std::vector<Value> words(std::initializer_list<const char*> list) {
  std::vector<Value> values;
  for (const char* word : list) values.emplace_back(static_cast<std::int64_t>(values.size()), word);
  return values;
}

namespace {

struct TypeFacts {
  const char* name;
  std::size_t bytes;
};

constexpr TypeFacts kTypes[] = {{"fp64", 8}, {"fp32", 4}, {"tf32", 4},  {"bf16", 2},  {"fp16", 2},
                                {"fp8", 1},  {"int8", 1}, {"int32", 4}, {"uint32", 4}};  // in the order of Type

}  // namespace

const char* type_name(Type type) { return kTypes[static_cast<int>(type)].name; }
std::size_t type_bytes(Type type) { return kTypes[static_cast<int>(type)].bytes; }

}  // namespace rung
