#include "common/harness/workload.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "common/machine/cpu_info.hpp"
#include "common/machine/parts.hpp"
#include "common/problem/trust.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

/// The byte of a guard band: another one for each, since a kernel that copies too much copies one guard onto another.
unsigned char guard_byte(std::size_t buffer, bool after) {
  return static_cast<unsigned char>(0x51 + 2 * buffer + (after ? 1 : 0));
}

using Clock = std::chrono::steady_clock;

/// What a kernel has to leave of the thread that calls it as it was: how it rounds, where it may run, how urgent it is.
struct ThreadState {
  int rounding = 0, priority = 0;
  unsigned control = 0;
  cpu_set_t processors;

  static ThreadState now() {
    ThreadState state{.rounding = std::fegetround(), .priority = getpriority(PRIO_PROCESS, 0)};
#ifdef __SSE2__
    state.control = _mm_getcsr() & ~0x3Fu;  // without the flags of exceptions
#endif
    CPU_ZERO(&state.processors);
    sched_getaffinity(0, sizeof state.processors, &state.processors);
    return state;
  }
  /// What differs from before; empty if nothing does. Puts back what can be.
  std::string changes_since(const ThreadState& before) const {
    std::string what;
    if (rounding != before.rounding || control != before.control) what = "how numbers are rounded";
    if (!CPU_EQUAL(&processors, &before.processors)) what = "the processors that the thread may run on";
    if (priority != before.priority) what = "the thread's priority";
    if (what.empty()) return "";
    std::fesetround(before.rounding);
#ifdef __SSE2__
    _mm_setcsr(before.control);
#endif
    sched_setaffinity(0, sizeof before.processors, &before.processors);
    setpriority(PRIO_PROCESS, 0, before.priority);
    return "changed " + what;
  }
};

/// A number that changes with any byte. Parts are found by all threads if there are many.
std::uint64_t print_of(const void* memory, std::size_t bytes) {
  std::atomic<std::uint64_t> all = bytes;
  each_part(bytes, [&](std::size_t begin, std::size_t count) {
    const auto* const part = static_cast<const std::byte*>(memory) + begin;
    std::uint64_t lanes[4] = {begin, 1, 2, 3};
    std::size_t at = 0;
    const auto mix = [](std::uint64_t& lane, std::uint64_t word) {
      lane = (lane ^ word) * 0x9E3779B97F4A7C15ull;
      lane ^= lane >> 29;
    };
    for (; at + 32 <= count; at += 32)
      for (int lane = 0; lane < 4; ++lane) {
        std::uint64_t word;
        std::memcpy(&word, part + at + 8 * lane, 8);
        mix(lanes[lane], word);
      }
    for (; at < count; ++at) mix(lanes[0], std::uint64_t(part[at]) + 1);
    std::uint64_t sum = begin;
    for (const std::uint64_t lane : lanes) mix(sum, lane);
    all += sum;
  });
  return all;
}

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

int threads_or_as_now(int threads) { return threads > 0 ? threads : omp_get_max_threads(); }

/// The operands of the problem, then the kernel's scratch for so many threads, each where the kernel has it.
std::vector<Operand> buffers_of(const Kernel& kernel, const Problem& problem, const Params& params, int threads = 0) {
  const UseThreads own(threads_or_as_now(threads));
  std::vector<Operand> buffers = problem.operands(params);
  if (kernel.scratch)
    for (const Operand& scratch : kernel.scratch(params)) buffers.push_back(scratch);
  for (Operand& buffer : buffers)
    if (kernel.gpu.pins_host && buffer.place == Place::pageable) buffer.place = Place::pinned;
  return buffers;
}

/// Where results are brought to, one place for each operand: to have the system clear new pages takes longer than the
/// copy.
class Landings {
 public:
  std::byte* at_least(std::size_t operand, std::size_t bytes) {
    if (places_.size() <= operand) places_.resize(operand + 1);
    Place& place = places_[operand];
    if (place.bytes < bytes) {
      place = {};
      place = {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
    }
    return place.memory.get();
  }
  void release() { places_.clear(); }

 private:
  struct Place {
    std::unique_ptr<std::byte[]> memory;
    std::size_t bytes = 0;
  };
  std::vector<Place> places_;
};

Landings& landings() {
  static Landings all;
  return all;
}

std::string cache_key(const Problem& problem, const Params& sizes, const DataSet& data, std::uint64_t seed) {
  return problem.family + "/" + type_name(problem.type) + "/" + sizes.text() + "/" + data.name + "/" +
         std::to_string(seed);
}

}  // namespace

void release_landings() { landings().release(); }

HostInputs::HostInputs(const Problem& problem, const Params& sizes, const DataSet& data, std::uint64_t seed) {
  std::vector<void*> pointers;
  for (const Operand& operand : problem.operands(sizes)) {
    const std::size_t rounded = (operand.bytes() + 255) / 256 * 256;
    data_.emplace_back(operand.is_input() ? std::aligned_alloc(256, rounded) : nullptr);
    if (operand.is_input() && !data_.back())
      throw Error("no memory on the host for " + std::to_string(rounded / 1000000) + " MB of " + operand.name);
    bytes_ += operand.is_input() ? rounded : 0;
    pointers.push_back(data_.back().get());
  }
  problem.fill(sizes, data, seed, pointers);
  for (const Operand& operand : problem.operands(sizes)) {
    sizes_.push_back(operand.is_input() ? operand.bytes() : 0);
    prints_.push_back(print_of(pointers[prints_.size()], sizes_.back()));
  }
  if (!is_as_remembered(problem)) throw WrongResult("the record of the problem " + problem.family + " was changed");
  reference_ = [reference = problem.reference, sizes, data, seed,
                inputs = std::vector<const void*>(pointers.begin(), pointers.end())] {
    return reference(sizes, data, seed, inputs);
  };
}

bool HostInputs::is_intact(std::size_t operand) const {
  return print_of(data_[operand].get(), sizes_[operand]) == prints_[operand];
}

namespace {

void exchange_in(void* memory, const Exchange& one) {
  auto* const bytes = static_cast<std::byte*>(memory);
  std::swap_ranges(bytes + one.one, bytes + one.one + one.bytes, bytes + one.other);
}

}  // namespace

void HostInputs::exchange(const Exchange& one) {
  exchange_in(data_[one.operand].get(), one);
  prints_[one.operand] = print_of(data_[one.operand].get(), sizes_[one.operand]);
}

Check HostInputs::judge(std::span<const void* const> host) const {
  if (!judge_) {
    const auto start = Clock::now();
    judge_ = reference_();
    reference_seconds_ = since(start);
  }
  return judge_(host);
}

std::shared_ptr<const HostInputs> InputCache::get(const Problem& problem, const Params& sizes, const DataSet& data,
                                                  std::uint64_t seed) {
  const std::string key = cache_key(problem, sizes, data, seed);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->inputs;
  }
  std::size_t kept = 0;
  for (const Entry& entry : entries_) kept += entry.inputs->bytes();
  std::size_t needed = 0;
  for (const Operand& operand : problem.operands(sizes)) needed += operand.is_input() ? operand.bytes() : 0;
  while (!entries_.empty() && kept + needed > limit_bytes_) {
    kept -= entries_.back().inputs->bytes();
    entries_.pop_back();
  }
  entries_.push_front({key, std::make_shared<HostInputs>(problem, sizes, data, seed)});
  return entries_.front().inputs;
}

Workload::Workload(Target& target, const Kernel& kernel, const Problem& problem, Call call, int threads)
    : target_(target),
      kernel_(kernel),
      buffers_(buffers_of(kernel, problem, call.params, threads)),
      operands_(problem.operands(call.params).size()),
      call_(std::move(call)),
      threads_(threads),
      prints_(operands_) {
  remember_problems();
  // Where memory is not equally near to all cores, pages go to those that touch them.
  const UseThreads own(threads_or_as_now(threads_));
  try {
    for (const Operand& buffer : buffers_) place(buffer);
  } catch (...) {
    for (void* buffer : call_.operands) target_.release_guarded(buffer);
    throw;
  }
}

Workload::~Workload() {
  for (void* buffer : call_.operands) target_.release_guarded(buffer);
}

/// Allocates a buffer with its guards; scratch gets what it holds before the first call.
void Workload::place(const Operand& buffer) {
  auto* memory = static_cast<std::byte*>(target_.allocate_guarded(buffer));
  call_.operands.push_back(memory);
  for (const bool after : {false, true}) {
    const std::vector<unsigned char> guard(kGuardBytes, guard_byte(call_.operands.size() - 1, after));
    target_.upload(after ? memory + buffer.bytes() : memory - kGuardBytes, guard.data(), kGuardBytes);
  }
  if (buffer.role != Role::scratch) return;
  if (buffer.is_zeroed)
    target_.upload(memory, std::vector<std::byte>(buffer.bytes()).data(), buffer.bytes());
  else
    target_.poison(memory, buffer.bytes(), kPoisonByte);
}

Check Workload::verify(const HostInputs& inputs) {
  for (std::size_t i = 0; i < operands_; ++i) {
    if (buffers_[i].is_input())
      target_.upload(call_.operands[i], inputs.input(i), buffers_[i].bytes());
    else
      target_.poison(call_.operands[i], buffers_[i].bytes(), kPoisonByte);
    if (buffers_[i].role == Role::input) prints_[i] = target_.fingerprint(call_.operands[i], buffers_[i].bytes());
  }
  run();
  return judge(inputs);
}

void Workload::run() {
  const UseThreads own(threads_or_as_now(threads_));
  const ThreadState before = ThreadState::now();
  target_.run(kernel_, call_);
  if (target_.is_host_memory() && changed_.empty()) changed_ = ThreadState::now().changes_since(before);
}

Check Workload::recheck(const HostInputs& inputs) {
  if (std::none_of(buffers_.begin(), buffers_.end(), [](const Operand& o) { return o.role == Role::in_out; }))
    return judge(inputs);
  Check check{.failure = guard_failure()};
  if (check.failure.empty()) check.failure = input_failure(inputs);
  return check.failure.empty() ? verify(inputs) : check;
}

Check Workload::judge(const HostInputs& inputs) {
  std::vector<const void*> host;
  for (std::size_t i = 0; i < operands_; ++i) {
    if (!buffers_[i].is_output()) {
      host.push_back(inputs.input(i));
      continue;
    }
    if (target_.is_host_memory() || buffers_[i].place != Place::device) {
      host.push_back(call_.operands[i]);
      continue;
    }
    std::byte* const landing = landings().at_least(i, buffers_[i].bytes());
    target_.download(landing, call_.operands[i], buffers_[i].bytes());
    host.push_back(landing);
  }
  Check check = inputs.judge(host).within(kernel_.error_bound);
  if (check.failure.empty()) check.failure = guard_failure();
  if (check.failure.empty()) check.failure = input_failure(inputs);
  if (check.failure.empty()) check.failure = changed_;
  return check;
}

void Workload::clear_outputs() {
  for (std::size_t i = 0; i < operands_; ++i)
    if (buffers_[i].role == Role::output) target_.poison(call_.operands[i], buffers_[i].bytes(), kPoisonByte);
}

std::string Workload::audit() {
  const std::vector<Word> words = written_words();
  const std::string idle = idle_run(words);
  return idle.empty() ? late_write(words) : idle;
}

void Workload::read(const Word& word, WordBytes& bytes) const {
  if (target_.is_host_memory())
    std::memcpy(bytes.data(), place(word), bytes.size());
  else
    target_.download(bytes.data(), place(word), bytes.size());
}

std::byte* Workload::place(const Word& word) const {
  return static_cast<std::byte*>(call_.operands[word.operand]) + word.offset;
}

/// A word of an output that the last run over poisoned outputs has written, for an output may have gaps; with a mark
/// that has its magnitude, and that no other rounding of it gives.
std::optional<Workload::Word> Workload::written_word(std::size_t operand) {
  const std::size_t count = buffers_[operand].bytes() / sizeof(WordBytes);
  if (buffers_[operand].role != Role::output || count == 0) return std::nullopt;
  Word word{operand, draw() % count * sizeof(WordBytes)};
  read(word, word.mark);
  const auto is_poison = [](unsigned char byte) { return byte == kPoisonByte; };
  if (std::all_of(word.mark.begin(), word.mark.end(), is_poison)) return std::nullopt;
  word.mark[2] ^= static_cast<unsigned char>(1 + draw() % 127);  // the leading bits of a float32's fraction
  return word;
}

/// Some of them, spread over each output.
std::vector<Workload::Word> Workload::written_words() {
  constexpr int kOfEach = 16;
  secret_ = fresh_bits();
  std::vector<Word> words;
  for (std::size_t i = 0; i < operands_; ++i)
    for (int w = 0; w < kOfEach; ++w)
      if (const std::optional<Word> word = written_word(i)) words.push_back(*word);
  return words;
}

void Workload::mark(const std::vector<Word>& words) {
  for (const Word& word : words) {
    if (target_.is_host_memory())
      std::memcpy(place(word), word.mark.data(), word.mark.size());
    else
      target_.upload(place(word), word.mark.data(), word.mark.size());
  }
}

void Workload::mark_outputs() {
  marks_.clear();
  if (!target_.is_host_memory()) return;
  secret_ = fresh_bits();
  for (std::size_t i = 0; i < operands_; ++i)
    if (const std::optional<Word> word = written_word(i)) marks_.push_back(*word);
  mark(marks_);
}

std::string Workload::mark_left() { return mark_left(marks_); }

namespace {

/// Whether elements of an operand are numbers that a kernel computes with, not places in another array.
bool is_of_numbers(const Operand& operand) {
  return operand.type != Type::int32 && operand.type != Type::uint32 && operand.role == Role::input;
}

}  // namespace

void Workload::exchange(const Exchange& one) { exchange_in(call_.operands[one.operand], one); }

void Workload::disturb() {
  constexpr std::size_t kMany = 64;  // elements: of fewer, each has a meaning of its own
  if (found_.empty()) found_ = mark_left(marks_);
  for (const Exchange& one : exchanges_) exchange(one);
  exchanges_.clear();
  for (std::size_t i = 0; i < operands_; ++i) {
    const std::size_t count = buffers_[i].elements, bytes = type_bytes(buffers_[i].type);
    if (!is_of_numbers(buffers_[i]) || count < kMany) continue;
    exchanges_.push_back({i, draw() % count * bytes, draw() % count * bytes, bytes});
    exchange(exchanges_.back());
  }
  mark_outputs();
}

std::string Workload::undisturb() {
  if (found_.empty()) found_ = mark_left(marks_);
  for (const Exchange& one : exchanges_) exchange(one);
  exchanges_.clear();
  marks_.clear();
  return std::exchange(found_, "");
}

void Workload::keep_result() {
  const auto is_read = [](const Operand& operand) { return operand.role == Role::in_out; };
  if (!keeps || std::any_of(buffers_.begin(), buffers_.end(), is_read)) return;
  kept_.resize(operands_);
  for (std::size_t i = 0; i < operands_; ++i) {
    if (!buffers_[i].is_output()) continue;
    const auto* const bytes = static_cast<const std::byte*>(call_.operands[i]);
    kept_[i].assign(bytes, bytes + buffers_[i].bytes());
  }
  kept_exchanges_ = exchanges_;
}

Check Workload::judge_kept(const Problem& problem, const DataSet& data, std::uint64_t seed) {
  if (kept_.empty() || data.name != random_reals().name) return {};  // others' judges may rely on what the inputs are
  HostInputs inputs(problem, call_.params, data, seed);
  for (const Exchange& one : kept_exchanges_) inputs.exchange(one);
  std::vector<const void*> host;
  for (std::size_t i = 0; i < operands_; ++i)
    host.push_back(buffers_[i].is_output() ? kept_[i].data() : inputs.input(i));
  return inputs.judge(host).within(kernel_.error_bound);
}

Kernel Workload::only_reset() const {
  Kernel kernel;
  kernel.name = kernel_.name + "/reset";
  kernel.run = kernel_.reset;
  return kernel;
}

std::string Workload::reset_failure() {
  if (!kernel_.reset) return "";
  clear_outputs();
  target_.run(only_reset(), call_);
  for (std::size_t i = 0; i < operands_; ++i)
    if (buffers_[i].role == Role::output && !target_.is_filled(call_.operands[i], buffers_[i].bytes(), kPoisonByte))
      return "wrote to " + buffers_[i].name + " in its reset, which is not timed";
  return "";
}

double Workload::reset_seconds() {
  constexpr std::int64_t kRuns = 10;
  if (!kernel_.reset) return 0;
  return target_.time(only_reset(), call_, kRuns, Mode::hot) / kRuns;
}

/// What is wrong if a run left a mark; empty if it left none.
std::string Workload::mark_left(const std::vector<Word>& words) {
  for (const Word& word : words) {
    WordBytes bytes;
    read(word, bytes);
    if (bytes == word.mark) return "did not write " + buffers_[word.operand].name + " anew when it was run again";
  }
  return "";
}

/// Runs follow each other as the timed ones do; before each, a few words of the outputs are marked as not written. A
/// kernel that skips what it has done before, or when it is called in quick succession, leaves the marks. Of a long
/// kernel on the host one run is enough: late_write() makes the second.
std::string Workload::idle_run(const std::vector<Word>& words) {
  constexpr int kRuns = 8;
  constexpr double kShort = 0.02, kLong = 0.2;  // seconds: many runs of a short kernel, one of a long one
  const double second = target_.is_host_memory() ? kShort : kLong;
  const UseThreads own(threads_or_as_now(threads_));
  const auto start = Clock::now();
  for (int i = 0; !words.empty() && i < kRuns && (i == 0 || since(start) < (i < 2 ? second : kShort)); ++i) {
    mark(words);
    target_.run(kernel_, call_);
    if (std::string failure = mark_left(words); !failure.empty()) return failure;
  }
  return "";
}

/// Marks the outputs as not written right after a run returned: what writes to them later was not timed.
std::string Workload::late_write(const std::vector<Word>& words) {
  constexpr double kLong = 0.1;  // seconds; what is late by so much is found when results are judged
  constexpr std::chrono::milliseconds kWait{2};
  const bool sees_words = target_.is_host_memory();  // at once; elsewhere a late write would come meanwhile
  if (sees_words) mark(words);
  const auto start = Clock::now();
  run();
  const std::string idle = sees_words ? mark_left(words) : "";
  clear_outputs();
  if (!idle.empty() || since(start) > kLong) return idle;
  std::this_thread::sleep_for(kWait);
  target_.end_idle_threads();  // what still runs then is waited for
  target_.settle();
  for (std::size_t i = 0; i < operands_; ++i) {
    if (buffers_[i].role != Role::output) continue;
    if (!target_.is_filled(call_.operands[i], buffers_[i].bytes(), kPoisonByte))
      return "wrote to " + buffers_[i].name + " after it had returned";
  }
  return "";
}

std::string Workload::guard_failure() {
  std::vector<unsigned char> guard(kGuardBytes);
  for (std::size_t i = 0; i < buffers_.size(); ++i)
    for (const bool after : {false, true}) {
      const auto* buffer = static_cast<const std::byte*>(call_.operands[i]);
      target_.download(guard.data(), after ? buffer + buffers_[i].bytes() : buffer - kGuardBytes, kGuardBytes);
      const auto wrong =
          std::find_if(guard.begin(), guard.end(), [&](unsigned char byte) { return byte != guard_byte(i, after); });
      if (wrong != guard.end())
        return "wrote outside " + buffers_[i].name + ", " + std::to_string(wrong - guard.begin()) +
               (after ? " bytes after its end" : " bytes into the guard before its start");
    }
  return "";
}

std::string Workload::input_failure(const HostInputs& inputs) {
  for (std::size_t i = 0; i < operands_; ++i) {
    if (!buffers_[i].is_input()) continue;
    const void* const memory = call_.operands[i];
    const std::size_t bytes = buffers_[i].bytes();
    if (!inputs.is_intact(i)) return "changed what the host keeps of its input " + buffers_[i].name;
    if (buffers_[i].role != Role::input) continue;
    const bool is_same = target_.is_host_memory() ? print_of(memory, bytes) == inputs.print(i)
                         : prints_[i]             ? target_.fingerprint(memory, bytes) == prints_[i]
                                                  : target_.holds(memory, inputs.input(i), bytes);
    if (!is_same) return "changed its input " + buffers_[i].name;
  }
  return "";
}

std::string shortage(std::size_t needed, std::size_t free, const char* where) {
  if (needed <= free) return "";
  const auto megabytes = [](std::size_t bytes) { return fmt::format("{:.1f} MB", double(bytes) * 1e-6); };
  return "needs " + megabytes(needed) + where + ", " + megabytes(free) + " are free";
}

std::size_t workload_bytes(const Kernel& kernel, const Problem& problem, const Params& params) {
  std::size_t bytes = 0;
  for (const Operand& buffer : buffers_of(kernel, problem, params)) bytes += buffer.bytes() + 2 * kGuardBytes;
  return bytes;
}

}  // namespace rung
