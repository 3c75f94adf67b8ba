/// What the sources teach, row by row, and the experiments and kernels that show it: experiments/rows.toml.
#pragma once

#include <string>
#include <vector>

#include "common/registry.hpp"

namespace rung {

struct Row {
  std::string id, what;
  std::vector<Citation> source;
  std::vector<std::string> experiments;
  std::vector<const Kernel*> kernels;
  std::string command;  ///< that shows it, where that is not an experiment

  bool is_missing() const { return experiments.empty() && command.empty(); }
};

/// Every row, A1 before A2 before A10. Throws Error, naming the row, for an experiment or a kernel that does not exist.
std::vector<Row> rows();

}  // namespace rung
