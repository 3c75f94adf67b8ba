/// The shape of a results file: Google Benchmark's JSON, one entry per sample with its counters flat, plus a context
/// that holds everything needed to read and to repeat it. The keys are listed in docs/results.md.
#pragma once

#include <string>
#include <vector>

#include "common/harness/journal.hpp"
#include "common/harness/measure.hpp"
#include "common/model/occupancy.hpp"

namespace rung {

struct CountedRun;

constexpr int kSchemaVersion = 2;

/// What is known of a point in addition to its samples.
struct PointFacts {
  double max_error_ratio = 0;
  double reset_seconds = 0;              ///< of the record's .reset before each run, untimed; 0 if it has none
  std::map<std::string, double> judged;  ///< further values of the judge, by name
  std::optional<Resources> resources;
  std::optional<double> transfer_seconds;
  std::vector<Span> timeline;
  std::optional<Launch> launch;
  std::optional<SmLimits> sm;   ///< of the GPU it ran on
  int interleaved_with = 0;     ///< others whose samples were interleaved with its own
  std::string group;            ///< the name of the first of them
  std::string not_interleaved;  ///< why not, where that was requested
};

/// Sizes or tunables as a table: numbers, or words where the value is one.
Json to_json(const Params& params);
/// Whether its point is judged by this sample: it is undisturbed, or its point has no undisturbed ones.
bool counts(const Json& entry);

/// The keys that every entry of a point begins with: its name, kernel, mode, data set, sizes and tunables.
Json point_entry(const Point& point);
/// Adds what the kernel's record declares of its requests, if it does.
void add_declared(Json& entry, const Point& point);
/// The entries of a measured point: one per sample.
std::vector<Json> sample_entries(const Point& point, const Measurement& measurement, const PointFacts& facts);
/// The entry of a point that was not measured: skipped with its reason.
Json skipped_entry(const Point& point, const std::string& reason);
/// The entry of a point that failed: it has an error and no rate.
Json failed_entry(const Point& point, const std::string& failure);
/// The entry of a counted point: executes it on the emulator. Its time is the emulation's, never the kernel's.
Json counted_entry(const Point& point, std::uint64_t seed);
/// The same of a point that has been counted, its result right or wrong.
Json counted_entry(const Point& point, const CountedRun& counted);

/// What determines how a point is measured, in addition to the program and the seed: only runs with equal designs can
/// be parts of one.
std::string design(const Point& point);

/// Of this program's own file.
std::string program_checksum();
/// Context keys of this host, this build and this program start.
Json base_context(const std::string& command_line);
/// Title, idea, source … of each kernel that the points use, by name.
Json kernel_descriptions(const std::vector<Point>& points);
/// Title, metric and the names of the sizes of each family that the points belong to.
Json problem_descriptions(const std::vector<Point>& points);

/// {"context": …, "benchmarks": […]}, one entry a line. `context` gets `checksum`: the CRC-32 of the whole text with
/// zeros in its own place.
std::string results_text(Json context, const std::vector<Json>& entries);

/// The ceilings measured on one side ("cpu" or "gpu") in the Empirical Roofline Toolkit's shape: the best median of
/// each label; data-sheet values, where the device is in the catalogue, under "spec". Null if there are none. A CPU's
/// rate for one thread is a roof of its own, "LABEL (1 thread)"; other numbers of threads than one and all are no roof.
Json ceilings(const std::string& side, const Json& context, const std::vector<Json>& entries);

}  // namespace rung
