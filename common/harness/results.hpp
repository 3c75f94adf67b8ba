/// The shape of a results file: Google Benchmark's JSON, one entry per sample with its counters flat, plus a context
/// that holds everything needed to read and to repeat it. The keys are listed in README.md, "Reading the results".
#pragma once

#include <string>
#include <vector>

#include "common/harness/journal.hpp"
#include "common/harness/measure.hpp"
#include "common/model/occupancy.hpp"

namespace rung {

constexpr int kSchemaVersion = 1;

/// What is known of a point beside its samples.
struct PointFacts {
  double max_error_ratio = 0;
  std::optional<Resources> resources;
  std::optional<double> transfer_seconds;
  std::optional<Launch> launch;
  std::optional<SmLimits> sm;   ///< of the GPU it ran on
  int interleaved_with = 0;     ///< others whose samples were taken in turns with its own
  std::string not_interleaved;  ///< why not, where that was asked for
};

/// The keys that every entry of a point begins with: its name, kernel, mode, sizes and tunables.
Json point_entry(const Point& point);
/// The entries of a measured point: one per sample.
std::vector<Json> sample_entries(const Point& point, const Measurement& measurement, const PointFacts& facts);
/// The entry of a point that was not measured: skipped with its reason.
Json skipped_entry(const Point& point, const std::string& reason);
/// The entry of a point that failed: it has an error and no rate.
Json failed_entry(const Point& point, const std::string& failure);
/// The entry of a counted point: executes it on the emulator. Its time is the emulation's, never the kernel's.
Json counted_entry(const Point& point, std::uint64_t seed);

/// Context keys of this host, this build and this program start.
Json base_context(const std::string& command_line);
/// Title, idea, source … of each kernel that the points use, by name.
Json kernel_descriptions(const std::vector<Point>& points);

/// {"context": …, "benchmarks": […]}, one entry a line.
std::string results_text(const Json& context, const std::vector<Json>& entries);

/// The ceilings measured on one side ("cpu" or "gpu") in the Empirical Roofline Toolkit's shape: the best median of
/// each label; data-sheet values, where the device is in the catalogue, under "spec". Null if there are none. What a
/// CPU gives one thread is a roof of its own, "LABEL (1 thread)"; other numbers of threads than one and all are no
/// roof.
Json ceilings(const std::string& side, const Json& context, const std::vector<Json>& entries);

}  // namespace rung
