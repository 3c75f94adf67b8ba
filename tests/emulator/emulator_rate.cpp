/// How fast the emulator runs kernels: accesses of single threads to global and shared memory, per second.
///   emulator_rate [N ...]     prints JSON; the sizes are 256, 512 and 1024 unless others are given
/// Each kernel is emulated at each size in three modes (counting; counting and looking for hazards; only the answer),
/// on one core and on all of them. A run that is judged wrong ends the program with 1. A kernel's accesses do not
/// depend on the mode, so all three are reported with the counted accesses. tests/emulator/emulator_rate.sh runs it,
/// with threads that do not spin while they wait.
#include <omp.h>
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/emulator/emulator.hpp"
#include "common/harness/experiment.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

using Json = nlohmann::json;

struct Way {
  std::string name;
  EmulatorOptions options;
  int largest_n;  ///< beyond which it takes too long to be timed several times
};

const std::vector<Way>& ways() {
  static const std::vector<Way> all{
      {"counting", {}, 1024}, {"hazards", {.hazards = true}, 256}, {"answer", {.counting = false}, 1024}};
  return all;
}

struct Case {
  std::string kernel;
  Params tunables;
};

constexpr int kRuns = 5;
constexpr double kEnoughSeconds = 10;  ///< of one row; at least three runs are timed

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// Processor time of all threads of this process so far, without other work on the machine.
double processor_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) { return static_cast<double>(t.tv_sec) + 1e-6 * t.tv_usec; };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

/// One kernel's operands in the emulator's memory.
class Subject {
 public:
  Subject(const Case& wanted, int n)
      : kernel_(find_kernel(wanted.kernel)),
        params_(point_of(kernel_, given(wanted, n)).params()),
        target_(open_emulator()),
        inputs_(problem_of(kernel_), params_, random_reals(), 1),
        workload_(*target_, kernel_, problem_of(kernel_),
                  Call{.params = params_, .launch = kernel_.gpu.launch(params_)}) {}

  /// Runs it over poisoned outputs; throws WrongResult for a wrong answer or a finding.
  Counts verify(const EmulatorOptions& options) {
    Recording recording(options);
    const Check check = workload_.verify(inputs_);
    if (!check.passed()) throw WrongResult(kernel_.name + ": " + check.failure);
    if (!recording.counts().findings.empty())
      throw WrongResult(kernel_.name + ": " + recording.counts().findings[0].text());
    return recording.counts();
  }

  void run(const EmulatorOptions& options) {
    Recording recording(options);
    target_->run(kernel_, workload_.call());
  }

 private:
  static Params given(const Case& wanted, int n) {
    Params params = wanted.tunables;
    params.set("n", n);
    return params;
  }

  const Kernel& kernel_;
  Params params_;
  std::unique_ptr<Target> target_;
  HostInputs inputs_;
  Workload workload_;
};

/// Wall and processor seconds of several runs on `threads` cores.
Json time_runs(Subject& subject, const EmulatorOptions& options, int threads) {
  omp_set_num_threads(threads);
  Json wall = Json::array(), processor = Json::array();
  const double start = now();
  for (int i = 0; i < kRuns && (i < 3 || now() - start < kEnoughSeconds); ++i) {
    const double wall_before = now(), processor_before = processor_seconds();
    subject.run(options);
    wall.push_back(now() - wall_before);
    processor.push_back(processor_seconds() - processor_before);
  }
  return {{"threads", threads}, {"seconds", wall}, {"processor_seconds", processor}};
}

/// One core and all of them; the largest sizes take too long for one.
std::vector<int> threads_for(int n) {
  const int cores = cpu_threads();
  return cores == 1 || n > 512 ? std::vector{cores} : std::vector{1, cores};
}

/// The rows of one kernel at one size.
void measure(const Case& wanted, int n, Json& rows) {
  const int cores = cpu_threads();
  Subject subject(wanted, n);
  omp_set_num_threads(cores);
  const Counts counts = subject.verify({});
  for (const Way& way : ways()) {
    if (n > way.largest_n) continue;
    omp_set_num_threads(cores);
    if (!way.options.counting || way.options.hazards) subject.verify(way.options);
    for (const int threads : threads_for(n)) {
      Json row = time_runs(subject, way.options, threads);
      row["mode"] = way.name;
      row["kernel"] = wanted.kernel;
      row["n"] = n;
      row["accesses"] = counts.accesses;
      row["load_sectors"] = counts.load_sectors;
      rows.push_back(row);
    }
  }
}

Json measure_all(const std::vector<int>& sizes) {
  const std::vector<Case> cases{{"gpu/matmul/tiled", {{"tile", 16}}}, {"gpu/matmul/naive", {}}};
  Json rows = Json::array();
  for (const Case& wanted : cases)
    for (const int n : sizes) measure(wanted, n, rows);
  return {{"tool", "rung"}, {"machine", cpu_info().name}, {"cores", cpu_threads()}, {"rows", rows}};
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) try {
  std::vector<int> sizes;
  for (int i = 1; i < argc; ++i) sizes.push_back(std::stoi(argv[i]));
  if (sizes.empty()) sizes = {256, 512, 1024};
  std::cout << rung::measure_all(sizes).dump(1) << std::endl;
  return std::cout ? 0 : 1;
} catch (const std::exception& error) {
  std::fprintf(stderr, "emulator_rate: %s\n", error.what());
  return 1;
}
