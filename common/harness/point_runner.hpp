/// Verifies, times and describes points: one alone, or a group of them interleaved.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/harness/results.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/machine.hpp"

namespace rung {

/// Points that are measured together; most are alone.
using Group = std::vector<const Point*>;

/// What became of one point: its entries for the results file.
struct PointEntries {
  const Point* point;
  std::vector<Json> entries;
};

/// Where the time of a run went, in seconds.
struct TimeSpent {
  double inputs = 0;   ///< making the inputs and the expected results
  double memory = 0;   ///< allocating the kernels' buffers
  double checks = 0;   ///< running kernels once and judging what they wrote, before and after timing
  double samples = 0;  ///< timing
  double counts = 0;   ///< executing kernels on the emulator
};

/// The device was lost while this point ran on it.
struct LostPoint : DeviceLost {
  LostPoint(const Point& lost, const std::string& why) : DeviceLost(why), point(&lost) {}
  const Point* point;
};

/// What the experiments of a study share: the machine, and the inputs that were used last.
struct Bench {
  /// `device`: the number of the GPU.
  explicit Bench(int device) : machine(device), inputs(machine.host().free_bytes() / 4) {}
  Machine machine;
  InputCache inputs;
};

class PointRunner {
 public:
  /// On a bench of its own.
  PointRunner(int device, std::uint64_t seed, const Overrides& overrides)
      : PointRunner(std::make_shared<Bench>(device), seed, overrides) {}
  PointRunner(std::shared_ptr<Bench> bench, std::uint64_t seed, const Overrides& overrides);

  Machine& machine() { return bench_->machine; }
  const TimeSpent& spent() const { return spent_; }

  /// The entries of every point of the group, whatever becomes of it: a kernel that fails has an entry with the reason,
  /// and the others continue. Nothing at all if interrupted. A group whose operands do not fit into memory together is
  /// measured one by one, and its entries record it. `not_interleaved`: why a point of a group is alone. Throws only
  /// LostPoint.
  std::vector<PointEntries> run(const Group& group, const std::string& not_interleaved = "");

  /// Runs a GPU point once on its inputs. Throws Error if the result is wrong.
  void run_once(const Point& point);

 private:
  struct Attempt;

  std::vector<PointEntries> run_alone(const Group& group, const std::string& why);
  std::vector<PointEntries> run_together(const Group& group, const std::string& not_interleaved);
  std::string refusal(const Point& point, const Call& call);
  std::string group_refusal(const Group& group);
  std::size_t free_bytes(Target& target, std::size_t needed);
  void prepare(Attempt& attempt);
  void verify(Attempt& attempt, bool on_exact);
  void verify(Attempt& attempt, const DataSet& data);
  void note_threads(const Point* owner);
  void require_rest(const Point& point, const Group& group);
  void measure_all(std::vector<Attempt>& attempts);
  Check judged(const HostInputs& inputs, const std::function<Check()>& check);
  Check judge_again(Attempt& attempt);
  std::string untimed_work(const Attempt& attempt) const;
  void conclude(Attempt& attempt);
  void add_device_facts(Attempt& attempt, Target& target);
  std::shared_ptr<const HostInputs> inputs(const Point& point, const DataSet& data);

  bool trespassed_ = false;  ///< in the group that was measured last
  std::shared_ptr<Bench> bench_;
  std::uint64_t seed_;
  std::map<int, const Point*> threads_;  ///< of the process, with the point whose kernel made them; null: not known
  std::set<int> restless_;               ///< threads that a kernel left running and that were reported
  Overrides overrides_;
  TimeSpent spent_;
};

}  // namespace rung
