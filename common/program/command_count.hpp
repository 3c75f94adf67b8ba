/// What `rung count` has counted, and how it shows it: as a table, as JSON, and either by line of the source.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/harness/count.hpp"

namespace rung {

/// Shows one counted point: its counts, and with options.lines the counts of each line of its source. At most 100
/// columns wide.
void print_table(const Point& point, const CountedRun& counted, const EmulatorOptions& options);
/// The same as an object: the entry of a results file, and its lines.
nlohmann::ordered_json to_json(const Point& point, const CountedRun& counted, const EmulatorOptions& options);
nlohmann::ordered_json to_json(const Operations& done);

/// What the accesses of one kind in one line did.
struct LineAccess {
  std::string kind;  ///< "global load", "shared store", "global atomic", "constant load", "async shared store" …
  std::string unit;  ///< of transactions: "sectors", "wavefronts", "words"
  std::uint64_t requests = 0, accesses = 0, bytes = 0, divergent = 0, transactions = 0;
  /// The transactions there would be if the lanes of each request had neighbouring elements, or of constant memory the
  /// same one: the fewest sectors that hold the bytes, wavefronts without bank conflicts. Never more than counted.
  std::uint64_t at_best = 0;

  double lanes() const { return requests ? static_cast<double>(accesses) / static_cast<double>(requests) : 0; }
  double per_request() const {
    return requests ? static_cast<double>(transactions) / static_cast<double>(requests) : 0;
  }
  double best_per_request() const {
    return requests ? static_cast<double>(at_best) / static_cast<double>(requests) : 0;
  }
};

/// What one line of the source did.
struct LineCounts {
  std::string file;  ///< below the source's folder: "gpu/matmul/tiled.cu"; empty if the line is not known
  int line = 0;
  std::string text;  ///< the line itself without blanks around it; empty if the file is not there
  Operations fp32, fp64, tensor;
  std::vector<LineAccess> accesses;  ///< loads, then atomics and stores
};

/// The lines that do something, by file and line; what is of no known line comes last.
std::vector<LineCounts> counts_by_line(const Counts& counts);

void print_lines(const std::vector<LineCounts>& lines);

nlohmann::ordered_json to_json(const std::vector<LineCounts>& lines);

}  // namespace rung
