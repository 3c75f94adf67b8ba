#include "common/harness/rows.hpp"

#include <algorithm>
#include <tuple>

#include "common/harness/experiment.hpp"
#include "common/harness/experiment_values.hpp"
#include "common/harness/toml.hpp"
#include "common/record_checks.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

Row read_row(const std::string& id, const toml::table& table) {
  Row row{.id = id};
  for (const auto& [key, node] : table) {
    const std::string name(key.str());
    if (name == "what") {
      row.what = words(name, node).front();
    } else if (name == "source") {
      row.source = citations(name, node);
    } else if (name == "command") {
      row.command = words(name, node).front();
    } else if (name == "experiments") {
      row.experiments = words(name, node);
      for (const std::string& experiment : row.experiments) find_experiment(experiment);
    } else if (name == "kernels") {
      for (const std::string& pattern : words(name, node))
        for (const Kernel* kernel : match_accepted(pattern)) row.kernels.push_back(kernel);
    } else {
      throw Error("unknown key '" + name + "'");
    }
  }
  if (row.what.empty()) throw Error("says not what it is: give what = \"…\"");
  return row;
}

/// A10 after A2.
bool comes_before(const Row& one, const Row& other) {
  const auto key = [](const Row& row) { return std::tuple(row.id.front(), row.id.size(), row.id); };
  return key(one) < key(other);
}

}  // namespace

std::vector<Row> rows() {
  const std::string file = project_file("experiments/rows.toml").string();
  std::vector<Row> all;
  try {
    const toml::table document = toml::parse_file(file);
    for (const auto& [key, node] : document) {
      const std::string id(key.str());
      try {
        if (!node.is_table()) throw Error("is no table");
        all.push_back(read_row(id, *node.as_table()));
      } catch (const Error& error) {
        throw Error(file + ", row " + id + ": " + error.what());
      }
    }
  } catch (const toml::parse_error& error) {
    throw Error(file + ", line " + std::to_string(error.source().begin.line) + ": " + std::string(error.description()));
  }
  std::sort(all.begin(), all.end(), comes_before);
  return all;
}

}  // namespace rung
