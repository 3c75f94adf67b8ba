#include "common/harness/workload.hpp"

#include <fmt/core.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

/// The byte of a guard band: another one for each, since a kernel that copies too much copies one guard onto another.
unsigned char guard_byte(std::size_t buffer, bool after) {
  return static_cast<unsigned char>(0x51 + 2 * buffer + (after ? 1 : 0));
}

using Clock = std::chrono::steady_clock;

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
  reference_ = [&problem, sizes, data, seed, inputs = std::vector<const void*>(pointers.begin(), pointers.end())] {
    return problem.reference(sizes, data, seed, inputs);
  };
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
  target_.run(kernel_, call_);
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

namespace {

using WordBytes = std::array<unsigned char, 4>;

bool is_poison(const WordBytes& bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](unsigned char byte) { return byte == kPoisonByte; });
}

}  // namespace

std::byte* Workload::place(const Word& word) const {
  return static_cast<std::byte*>(call_.operands[word.operand]) + word.offset;
}

/// Some words, spread over each output, that the last run over poisoned outputs has written: an output may have gaps.
std::vector<Workload::Word> Workload::written_words() {
  constexpr std::size_t kOfEach = 16;
  std::vector<Word> words;
  for (std::size_t i = 0; i < operands_; ++i) {
    const std::size_t count = buffers_[i].bytes() / sizeof(WordBytes);
    if (buffers_[i].role != Role::output || count == 0) continue;
    for (std::size_t w = 0; w < kOfEach; ++w) {
      const Word word{i, random_bits(i, w) % count * sizeof(WordBytes)};
      WordBytes bytes;
      target_.download(bytes.data(), place(word), bytes.size());
      if (!is_poison(bytes)) words.push_back(word);
    }
  }
  return words;
}

void Workload::mark(const std::vector<Word>& words) {
  constexpr WordBytes kMark{kPoisonByte, kPoisonByte, kPoisonByte, kPoisonByte};
  for (const Word& word : words) target_.upload(place(word), kMark.data(), kMark.size());
}

/// What is wrong if a run left a mark; empty if it left none.
std::string Workload::mark_left(const std::vector<Word>& words) {
  for (const Word& word : words) {
    WordBytes bytes;
    target_.download(bytes.data(), place(word), bytes.size());
    if (is_poison(bytes)) return "did not write " + buffers_[word.operand].name + " anew when it was run again";
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
    if (buffers_[i].role != Role::input) continue;
    const void* const memory = call_.operands[i];
    const std::size_t bytes = buffers_[i].bytes();
    if (prints_[i] ? target_.fingerprint(memory, bytes) != prints_[i] : !target_.holds(memory, inputs.input(i), bytes))
      return "changed its input " + buffers_[i].name;
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
