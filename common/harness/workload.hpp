/// A kernel's operands on its target, and the proof that it computes what it should, without which nothing is timed.
#pragma once

#include <list>
#include <memory>
#include <vector>

#include "common/machine/target.hpp"
#include "common/problem/problem.hpp"

namespace rung {

/// The inputs of one problem at one size on the host, and the judge of its outputs; shared by all kernels that solve
/// it.
class HostInputs {
 public:
  HostInputs(const Problem& problem, const Params& sizes, const DataSet& data, std::uint64_t seed);

  std::size_t bytes() const { return bytes_; }
  const void* input(std::size_t operand) const { return data_[operand].get(); }
  /// `host` holds one pointer per operand. What is right is worked out at the first call, when the first kernel has
  /// run: it cannot have read the answer.
  Check judge(std::span<const void* const> host) const;
  /// Seconds that working it out has taken; 0 until then.
  double reference_seconds() const { return reference_seconds_; }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<void, Free>> data_;  ///< empty for outputs that are not read
  std::size_t bytes_ = 0;
  std::function<Judge()> reference_;
  mutable Judge judge_;
  mutable double reference_seconds_ = 0;
};

/// Keeps the inputs last used, up to a number of bytes, so that the kernels of a ladder do not each make them anew.
class InputCache {
 public:
  explicit InputCache(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}
  void clear() { entries_.clear(); }
  std::shared_ptr<const HostInputs> get(const Problem& problem, const Params& sizes, const DataSet& data,
                                        std::uint64_t seed);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const HostInputs> inputs;
  };
  std::size_t limit_bytes_;
  std::list<Entry> entries_;  ///< the last used first
};

/// One kernel's operands and scratch in the memory of a target, each between two guard bands.
class Workload {
 public:
  /// `call` has the sizes and tunables, and on a GPU the launch. A CPU kernel runs on so many `threads`, for 0 on as
  /// many as OpenMP has now; its result is judged by the latter.
  Workload(Target& target, const Kernel& kernel, const Problem& problem, Call call, int threads = 0);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const Call& call() const { return call_; }

  /// Runs the kernel on `inputs`, over outputs poisoned with NaN (those that it reads hold what `inputs` says), and
  /// judges the result: right values everywhere, no byte outside the outputs written, inputs as they were. Leaves the
  /// inputs in place for timing.
  Check verify(const HostInputs& inputs);

  /// Judges what the timed runs left behind. Where an output is read, each of them started from what the one before
  /// had left: there, the guards and the inputs are judged, then one more run from the inputs.
  Check recheck(const HostInputs& inputs);

  /// Marks the outputs as not written, so that recheck() sees whether the timed runs did anything.
  void clear_outputs();

  /// Looks, some runs more, for work that was not done in the timed time: runs that leave what an earlier one wrote
  /// where it was, and writes after the return. Empty, or what was found. The inputs must be in place.
  std::string audit();

 private:
  void place(const Operand& buffer);
  std::string guard_failure();
  std::string input_failure(const HostInputs& inputs);
  /// Four bytes of an output.
  struct Word {
    std::size_t operand, offset;
  };
  std::vector<Word> written_words();
  void run();
  std::byte* place(const Word& word) const;
  void mark(const std::vector<Word>& words);
  std::string mark_left(const std::vector<Word>& words);
  std::string idle_run(const std::vector<Word>& words);
  std::string late_write(const std::vector<Word>& words);
  Check judge(const HostInputs& inputs);

  Target& target_;
  const Kernel& kernel_;
  std::vector<Operand> buffers_;  ///< the problem's operands, then the kernel's scratch
  std::size_t operands_ = 0;      ///< how many of them are the problem's
  Call call_;
  int threads_ = 0;
  std::vector<std::optional<std::uint64_t>> prints_;  ///< of the inputs as they were uploaded, where the target has any
};

/// Gives back the host's memory that results were brought to for being judged; it is kept from one to the next.
void release_landings();

/// Bytes of a target's memory that a workload takes.
std::size_t workload_bytes(const Kernel& kernel, const Problem& problem, const Params& params);

/// "needs 12.0 MB on the host, 8.0 MB are free"; empty if it fits. `where`: " on the host".
std::string shortage(std::size_t needed, std::size_t free, const char* where);

}  // namespace rung
