#include "common/harness/experiment_values.hpp"

#include "common/emulator/caches.hpp"
#include "common/harness/sources.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {

void wrong_type(const std::string& key, const char* wanted) { throw Error("'" + key + "' must be " + wanted); }

namespace {

/// What `read` makes of each element of a list, or of the node itself if it is none.
template <typename T, typename Read>
std::vector<T> each_value(const std::string& key, const toml::node& node, const char* wanted, const Read& read) {
  std::vector<T> found;
  const auto add = [&](const toml::node& one) {
    if (!read(one, found)) wrong_type(key, wanted);
  };
  if (const toml::array* list = node.as_array()) {
    for (const toml::node& one : *list) add(one);
  } else {
    add(node);
  }
  if (found.empty()) wrong_type(key, "a list with at least one value");
  return found;
}

/// Adds the node's value if it is a T.
template <typename T, typename Out>
bool add_if(const toml::node& one, std::vector<Out>& found) {
  const auto value = one.value_exact<T>();
  if (value) found.emplace_back(*value);
  return value.has_value();
}

}  // namespace

std::vector<std::int64_t> numbers(const std::string& key, const toml::node& node) {
  return each_value<std::int64_t>(key, node, "a whole number or a list of them",
                                  [](const toml::node& one, auto& found) { return add_if<std::int64_t>(one, found); });
}

std::vector<std::string> words(const std::string& key, const toml::node& node) {
  return each_value<std::string>(key, node, "a word or a list of them",
                                 [](const toml::node& one, auto& found) { return add_if<std::string>(one, found); });
}

std::vector<Value> values(const std::string& key, const toml::node& node) {
  return each_value<Value>(key, node, "a whole number, a word or a list of them",
                           [](const toml::node& one, auto& found) {
                             if (const auto word = one.value_exact<std::string>()) found.emplace_back(0, *word);
                             return one.is_string() || add_if<std::int64_t>(one, found);
                           });
}

std::vector<Citation> citations(const std::string& key, const toml::node& node) {
  constexpr const char* kWanted = "a list of tables, as [{id = \"pmpp\", where = \"section 5.4\"}]";
  const toml::array* list = node.as_array();
  if (!list) wrong_type(key, kWanted);
  std::vector<Citation> all;
  for (const toml::node& one : *list) {
    const toml::table* table = one.as_table();
    const auto id = table ? (*table)["id"].value<std::string>() : std::nullopt;
    if (!id) wrong_type(key, kWanted);
    for (const auto& [name, value] : *table)
      if (name.str() != "id" && name.str() != "where") wrong_type(key, kWanted);
    all.push_back({*id, (*table)["where"].value_or(std::string())});
    try {
      require_source(all.back());
    } catch (const Error& error) {
      throw Error("'" + key + "': " + error.what());
    }
  }
  return all;
}

std::vector<Params> shapes(const toml::node& node) {
  const toml::array* list = node.as_array();
  if (!list || list->empty()) wrong_type("sizes", "a list of tables, as [{m = 64, n = 32, k = 8}]");
  std::vector<Params> all;
  for (const toml::node& one : *list) {
    const toml::table* table = one.as_table();
    if (!table) wrong_type("sizes", "a list of tables, as [{m = 64, n = 32, k = 8}]");
    Params shape;
    for (const auto& [key, value] : *table) {
      const std::string name(key.str());
      if (!value.is_integer()) wrong_type(name, "one whole number in each table of sizes; lists are keys of the sweep");
      shape.set(name, value.as_integer()->get());
    }
    all.push_back(shape);
  }
  return all;
}

double positive_number(const std::string& key, const toml::node& node) {
  const auto value = node.value<double>();
  if (!value || !(*value > 0) || *value > 1e6) wrong_type(key, "a number above 0 (and up to 1e6)");
  return *value;
}

bool truth(const std::string& key, const toml::node& node) {
  if (!node.is_boolean()) wrong_type(key, "true or false");
  return node.as_boolean()->get();
}

std::vector<int> thread_counts(const std::string& key, const toml::node& node) {
  std::vector<int> counts;
  for (const std::int64_t count : numbers(key, node)) {
    if (count < 0 || count > kMostThreads) wrong_type(key, "numbers of threads from 0, for all, to 1024");
    counts.push_back(static_cast<int>(count));
  }
  return counts;
}

const Device* modelled_device(const std::string& key, const toml::node& node) {
  const auto name = node.value<std::string>();
  if (!name) wrong_type(key, "the name of one GPU, as \"H200\"");
  try {
    const Device& device = find_device(*name);
    CacheModel(device, 1, 1, 0);
    return &device;
  } catch (const Error& error) {
    throw Error("'" + key + "': " + error.what());
  }
}

}  // namespace rung
