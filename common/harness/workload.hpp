/// A kernel's operands on its target, and the proof that it computes what it should, without which nothing is timed.
#pragma once

#include <array>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/machine/leftovers.hpp"
#include "common/machine/signals.hpp"
#include "common/machine/target.hpp"
#include "common/problem/problem.hpp"

namespace rung {

/// What an audit writes to an element of an input, and what was there.
struct Change {
  std::size_t operand, offset, bytes;
  std::array<std::byte, 16> now = {}, before = {};
};

/// The inputs of one problem at one size on the host, and the judge of its outputs; shared by all kernels that solve
/// it.
class HostInputs {
 public:
  HostInputs(const Problem& problem, const Params& sizes, const DataSet& data, std::uint64_t seed);

  std::size_t bytes() const { return bytes_; }
  const void* input(std::size_t operand) const { return data_[operand].get(); }
  /// `host` holds one pointer per operand. The expected result is computed at the first call, after the first kernel
  /// has run: it cannot have read it.
  Check judge(std::span<const void* const> host) const;
  /// Seconds that computing it has taken; 0 until then.
  double reference_seconds() const { return reference_seconds_; }
  /// A number that changes with any byte of an input, as it was when it was made; and whether it still is so.
  std::uint64_t print(std::size_t operand) const { return prints_[operand]; }
  bool is_intact(std::size_t operand) const;
  /// Makes these changes, before anything was judged.
  void change(const std::vector<Change>& changes);
  /// Rotates the elements of an input by `places` towards the beginning.
  void rotate(std::size_t operand, const Operand& what, std::size_t places);

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  std::vector<std::unique_ptr<void, Free>> data_;  ///< empty for outputs that are not read
  std::vector<std::uint64_t> prints_;
  std::vector<std::size_t> sizes_;  ///< of the inputs, in bytes
  std::size_t bytes_ = 0;
  std::function<Judge()> reference_;
  mutable Judge judge_;
  mutable double reference_seconds_ = 0;
};

/// Keeps the inputs last used, up to a number of bytes, so that the kernels of a ladder share them.
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
  /// `call` has the sizes and tunables, and on a GPU the launch. A CPU kernel runs on `threads` threads, or, for 0, on
  /// OpenMP's present number; its result is always judged with OpenMP's number.
  Workload(Target& target, const Kernel& kernel, const Problem& problem, Call call, int threads = 0);
  ~Workload();
  Workload(const Workload&) = delete;
  Workload& operator=(const Workload&) = delete;

  const Call& call() const { return call_; }
  /// What is to be timed: the kernel, called so that any one of many runs can be audited, and on the host its resets
  /// timed.
  const Kernel& kernel() const { return called_; }

  /// Runs the kernel on `inputs`, over outputs poisoned with NaN (those that it reads hold what `inputs` says), and
  /// judges the result: right values everywhere, no byte outside the outputs written, inputs as they were. Leaves the
  /// inputs in place for timing.
  Check verify(const HostInputs& inputs);

  /// Judges what the timed runs left behind. Where an output is read, each of them started from what the one before
  /// had left: there, the guards and the inputs are judged, then one more run from the inputs.
  Check recheck(const HostInputs& inputs);

  /// Marks the outputs as not written, so that recheck() sees whether the timed runs did anything.
  void clear_outputs();

  /// Makes some more runs to find work that was not done in the timed interval: runs that leave an earlier run's
  /// results in place, and writes after the return. Empty, or what was found. The inputs must be in place.
  std::string audit();

  /// Audits that a timed kernel cannot foresee, since they are drawn from the system's entropy. Only where the host has
  /// the memory. To be called before an interval of `runs` runs: before one of them, drawn at random, words of the
  /// outputs will be marked as not written, by values that look like results. With and without marks the run begins
  /// some nanoseconds later.
  void mark_outputs(std::int64_t runs);
  /// After it: what was found, or empty.
  std::string mark_left();
  /// Whether `runs` back-to-back runs write the words that another thread marks meanwhile, so that no run begins later
  /// because of it. Between marks the thread rests where a run takes long. Outputs may hold marks afterwards. Adds to
  /// `looked` how often it could look: seldom where the thread gets no processor. Empty, or what was found.
  std::string mark_meanwhile(const std::function<void()>& run_all, std::int64_t runs, double seconds_of_one,
                             int& looked);
  /// Before each run of an audited interval: marks outputs likewise and changes some elements of the inputs, so that
  /// the kernel has never seen these inputs. Outputs that it reads have their first contents.
  void disturb();
  /// The same, right before the last of `runs` back-to-back runs, which follow each other as the timed ones do.
  void disturb_last(std::int64_t runs);
  /// Whether the kernel reads outputs: restoring them takes too long for disturb_last() between runs.
  bool reads_outputs() const;
  /// After it: puts the inputs back; what was found, or empty.
  std::string undisturb();
  /// Keeps what the run wrote that undisturb() is about to end, with the changes, for judge_kept().
  void keep_result();
  /// Judges what was kept, by inputs of the same seed with the same changes. Passes if nothing was.
  Check judge_kept(const DataSet& data, std::uint64_t seed);
  /// Whether a run takes longer on new inputs than on inputs that it has seen, where both were written immediately
  /// before. Such a kernel stores results, or patches them where inputs have changed. Every element moves, so that
  /// nothing can be patched. Empty where elements have places of their own, for large inputs, and on a GPU. Keeps one
  /// result.
  std::string known_inputs_failure();
  /// The same for runs that follow each other without a pause: whether they take longer while another thread moves
  /// elements of the inputs than while it writes the same values again. Each interval has `runs` runs.
  std::string moved_meanwhile_failure(std::int64_t runs);
  /// Judges that result, by inputs of the same seed with the elements moved. Passes if none was kept.
  Check judge_moved(const DataSet& data, std::uint64_t seed);
  /// For sizes with `passes`: whether the time grows with them, since one pass may compute the result of many. Empty,
  /// or what was found.
  std::string passes_failure();
  /// Exchanges operands with `other`, so that each is measured on the memory of the other: equal codes may differ by
  /// several per cent because of where their operands lie. Only operands that hold the same or are only written; none
  /// where the two are not alike or are large, nor on a GPU, where kernels may have been prepared for certain
  /// addresses.
  void exchange_memory(Workload& other);
  /// Before that: whether an input was changed, or something was written outside the operands. Empty, or what was
  /// found.
  std::string exchange_failure();
  /// Finds timers and signal handlers that differ from those before the kernel's first run, files that it left open and
  /// processes that run: they would take time from other kernels. Restores or ends them. Empty, or what was found.
  std::string left_behind();

  /// Whether the record's .reset, which is not timed, writes to outputs, as it must not. Empty, or what was found.
  std::string reset_failure();
  /// Seconds that the .reset takes: the larger of its mean over a batch and of its median before the runs so far. 0
  /// where there is none.
  double reset_seconds();

 private:
  void place(const Operand& buffer);
  std::string guard_failure();
  std::string input_failure(const HostInputs& inputs);
  bool may_exchange() const;
  std::vector<std::size_t> movable() const;
  double seconds_of_moved(bool is_known);
  double seconds_of_redrawn(bool is_known);
  bool has_redrawn() const;
  std::size_t all_bytes() const;
  std::string saved_on_known_inputs();
  std::optional<double> seconds_while_moved(std::int64_t runs, bool moves);
  /// Four bytes of an output, and their mark for "not written".
  using WordBytes = std::array<unsigned char, 4>;
  struct Word {
    std::size_t operand, offset;
    WordBytes mark = {};
  };
  std::uint64_t draw() { return random_bits(secret_, ++drawn_); }
  std::optional<Word> written_word(std::size_t operand);
  std::vector<Word> written_words();
  void run();
  Kernel only_reset() const;
  std::byte* place(const Word& word) const;
  void run_one(const Call& call);
  void reset_one(const Call& call);
  void draw_marks();
  std::vector<Change> draw_changes();
  void restore_read();
  void undo_changes();
  void plant();
  void read(const Word& word, WordBytes& bytes) const;
  void mark(const std::vector<Word>& words);
  bool stands(const Word& word) const;
  std::string not_written(const Word& word) const;
  bool is_right_by_chance(const Word& word);
  std::string mark_left(const std::vector<Word>& words);
  std::string idle_run(const std::vector<Word>& words);
  std::string late_write(const std::vector<Word>& words);
  Check judge(const HostInputs& inputs);

  Target& target_;
  const Kernel& kernel_;
  const Problem& problem_;
  Kernel called_;
  std::vector<Operand> buffers_;  ///< the problem's operands, then the kernel's scratch
  std::size_t operands_ = 0;      ///< how many of them are the problem's
  Call call_;
  int threads_ = 0;
  std::vector<std::optional<std::uint64_t>> prints_;  ///< of the inputs as they were uploaded, where the target has any
  std::string changed_;                               ///< of the calling thread, by a run
  std::uint64_t secret_ = 0, drawn_ = 0;
  std::vector<Word> marks_;
  std::string found_;
  std::int64_t until_ = 0;  ///< runs until plant(), with the one before which it is; 0 or less: none
  std::vector<Change> planned_, changes_, kept_changes_;  ///< to be made; made; made when the result was kept
  std::vector<std::vector<std::byte>> read_;              ///< of each operand that is read and written: as at first
  std::vector<float> reset_seconds_;
  Signals signals_;
  Leftovers leftovers_;
  std::vector<std::vector<std::byte>> kept_, kept_moved_;  ///< of each operand; empty for inputs
  std::vector<std::size_t> moved_, kept_places_;  ///< by how many places each operand was; when a result was kept
};

/// Whether a failure is a write to memory that the kernel must not write: of kernels that exchange their memory,
/// another one may have done it.
bool is_trespass(const std::string& failure);

/// Releases the host memory into which results are copied to be judged; it is kept from one point to the next.
void release_landings();

/// Bytes of a target's memory that a workload takes.
std::size_t workload_bytes(const Kernel& kernel, const Problem& problem, const Params& params);

/// "needs 12.0 MB on the host, 8.0 MB are free"; empty if it fits. `where`: " on the host".
std::string shortage(std::size_t needed, std::size_t free, const char* where);

}  // namespace rung
