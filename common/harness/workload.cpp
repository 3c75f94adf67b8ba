#include "common/harness/workload.hpp"

#include <fmt/core.h>
#include <omp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
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
#include <system_error>
#include <thread>

#include "common/harness/statistics.hpp"
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

constexpr int kCannotLook = 1 << 20;  // times: as if it had looked often enough
const std::string kWroteOutside = "wrote outside ", kChangedInput = "changed its input ";

/// What a kernel has to leave of the thread that calls it as it was: how it rounds, where it may run, how urgent it is.
struct ThreadState {
  int rounding = 0, priority = 0, policy = 0;
  unsigned control = 0;
  cpu_set_t processors;

  static ThreadState now() {
    ThreadState state{
        .rounding = std::fegetround(), .priority = getpriority(PRIO_PROCESS, 0), .policy = sched_getscheduler(0)};
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
    if (priority != before.priority || policy != before.policy) what = "the thread's priority";
    if (what.empty()) return "";
    std::fesetround(before.rounding);
#ifdef __SSE2__
    _mm_setcsr(before.control);
#endif
    sched_setaffinity(0, sizeof before.processors, &before.processors);
    const sched_param none{};
    sched_setscheduler(0, before.policy, &none);
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

/// The operands of the problem, then the kernel's scratch for `threads` threads, each where the kernel has it.
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

void put(void* memory, const Change& one, const std::array<std::byte, 16>& bytes) {
  std::memcpy(static_cast<std::byte*>(memory) + one.offset, bytes.data(), one.bytes);
}

}  // namespace

void HostInputs::change(const std::vector<Change>& changes) {
  for (const Change& one : changes) put(data_[one.operand].get(), one, one.now);
  for (std::size_t i = 0; i < data_.size(); ++i)
    if (std::any_of(changes.begin(), changes.end(), [&](const Change& one) { return one.operand == i; }))
      prints_[i] = print_of(data_[i].get(), sizes_[i]);
}

namespace {

template <typename Element>
void rotate_elements(void* memory, std::size_t elements, std::size_t places) {
  auto* const begin = static_cast<Element*>(memory);
  std::rotate(begin, begin + places, begin + elements);
}

void rotate_operand(void* memory, const Operand& what, std::size_t places) {
  switch (type_bytes(what.type)) {
    case 1:
      return rotate_elements<std::uint8_t>(memory, what.elements, places);
    case 2:
      return rotate_elements<std::uint16_t>(memory, what.elements, places);
    case 4:
      return rotate_elements<std::uint32_t>(memory, what.elements, places);
    default:
      return rotate_elements<std::uint64_t>(memory, what.elements, places);
  }
}

}  // namespace

void HostInputs::rotate(std::size_t operand, const Operand& what, std::size_t places) {
  rotate_operand(data_[operand].get(), what, places);
  prints_[operand] = print_of(data_[operand].get(), sizes_[operand]);
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
      problem_(problem),
      called_(kernel),
      buffers_(buffers_of(kernel, problem, call.params, threads)),
      operands_(problem.operands(call.params).size()),
      call_(std::move(call)),
      threads_(threads),
      prints_(operands_),
      read_(operands_),
      signals_(Signals::now()),
      leftovers_(Leftovers::now()) {
  if (target_.is_host_memory() && kernel_.side() == "cpu") {
    called_.run = [this](const Call& one) { run_one(one); };
    if (kernel_.reset) called_.reset = [this](const Call& one) { reset_one(one); };
  }
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

bool is_trespass(const std::string& failure) {
  return failure.find(kWroteOutside) != std::string::npos || failure.find(kChangedInput) != std::string::npos;
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
    if (buffers_[i].role == Role::in_out && target_.is_host_memory()) {
      const auto* const bytes = static_cast<const std::byte*>(inputs.input(i));
      read_[i].assign(bytes, bytes + buffers_[i].bytes());
    }
    if (buffers_[i].role == Role::input)
      prints_[i] =
          target_.is_host_memory() ? inputs.print(i) : target_.fingerprint(call_.operands[i], buffers_[i].bytes());
  }
  run();
  return judge(inputs);
}

void Workload::run() {
  const UseThreads own(threads_or_as_now(threads_));
  const ThreadState before = ThreadState::now();
  target_.run(called_, call_);
  if (target_.is_host_memory() && changed_.empty()) changed_ = ThreadState::now().changes_since(before);
  if (target_.is_host_memory() && changed_.empty()) changed_ = left_behind();
}

bool Workload::may_exchange() const {
  constexpr std::size_t kMost = std::size_t{64} << 20;  // of more, caches hold little, wherever it lies
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < operands_; ++i) bytes += buffers_[i].bytes();
  return target_.is_host_memory() && kernel_.side() == "cpu" && bytes <= kMost;
}

std::string Workload::exchange_failure() {
  if (!may_exchange()) return "";
  for (std::size_t i = 0; i < operands_; ++i)
    if (buffers_[i].role == Role::input && print_of(call_.operands[i], buffers_[i].bytes()) != prints_[i])
      return kChangedInput + buffers_[i].name;
  return guard_failure();
}

void Workload::exchange_memory(Workload& other) {
  const auto is_alike = [](const Operand& one, const Operand& two) {
    return one.role == two.role && one.bytes() == two.bytes();
  };
  if (!may_exchange() || !other.may_exchange() || &problem_ != &other.problem_ || threads_ != other.threads_ ||
      prints_ != other.prints_)
    return;
  for (std::size_t i = 0; i < std::min(operands_, other.operands_); ++i)
    if (buffers_[i].role != Role::in_out && is_alike(buffers_[i], other.buffers_[i]))
      std::swap(call_.operands[i], other.call_.operands[i]);
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

std::string Workload::passes_failure() {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;  // passes, which some kernels count in 32 bits
  constexpr double kGrows = 1.6;
  constexpr int kDoublings = 6, kTries = 3;  // with few passes, the start of a run dominates
  const std::int64_t passes = call_.params.get("passes", 1);
  if (passes < 2 || passes > kMost >> kDoublings) return "";
  const UseThreads own(threads_or_as_now(threads_));
  const auto least = [&](std::int64_t number) {
    Call call = call_;
    call.params.set("passes", number);
    double seconds = target_.time(kernel_, call, 1, Mode::hot);
    for (int i = 1; i < kTries; ++i) seconds = std::min(seconds, target_.time(kernel_, call, 1, Mode::hot));
    return seconds;
  };
  const double once = least(passes);
  double more = 0;
  for (int doublings = 1; doublings <= kDoublings; ++doublings)
    if ((more = least(passes << doublings)) >= kGrows * once) return "";
  return fmt::format("does not make its passes: {} take {:.3g} s, {} take {:.3g} s", passes, once, passes << kDoublings,
                     more);
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

/// A word of an output that the last run over poisoned outputs has written, for an output may have gaps; with a mark of
/// the same magnitude that no other rounding would produce.
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

void Workload::draw_marks() {
  marks_.clear();
  planned_.clear();
  secret_ = fresh_bits();
  for (std::size_t i = 0; i < operands_; ++i)
    if (const std::optional<Word> word = written_word(i)) marks_.push_back(*word);
}

/// Before the first run it is done at once: a flush of the caches may follow.
void Workload::mark_outputs(std::int64_t runs) {
  if (!target_.is_host_memory()) return;
  draw_marks();
  until_ = static_cast<std::int64_t>(1 + draw() % static_cast<std::uint64_t>(std::max<std::int64_t>(runs, 1)));
  if (until_ > 1) return;
  until_ = 0;
  plant();
}

std::string Workload::mark_left() {
  until_ = 0;
  if (found_.empty()) found_ = mark_left(marks_);
  return std::exchange(found_, "");
}

/// Repeatedly marks words, and checks some runs later that a whole run in between has written them.
std::string Workload::mark_meanwhile(const std::function<void()>& run_all, std::int64_t runs, double seconds_of_one,
                                     int& looked) {
  constexpr int kRounds = 200;
  constexpr std::int64_t kNever = std::int64_t{1} << 62;
  constexpr std::int64_t kWhole = 3;    // runs: at least one is wholly after the marks
  constexpr double kShortRest = 20e-6;  // less than about what the system takes to wake a thread
  const auto most_before = static_cast<std::uint64_t>(std::clamp<std::int64_t>(runs - kWhole, 1, runs < 64 ? 4 : 8));
  const std::chrono::duration<double> rest(seconds_of_one / 8);
  if (!target_.is_host_memory() || reads_outputs()) {
    looked = kCannotLook;
    return "";
  }
  const std::atomic_ref<std::int64_t> left(until_);
  until_ = kNever;
  std::atomic<bool> is_over = false;
  std::string found;
  std::jthread other;
  struct EndsIt {
    std::atomic<bool>& is_over;
    ~EndsIt() { is_over = true; }
  } const ends_it{is_over};  // before the thread is waited for, also where a run throws
  try {
    other = std::jthread([&] {
      const auto passes = [&](std::int64_t number, bool rests) {
        for (const std::int64_t from = left; from - left < number && !is_over;) {
          if (rests) std::this_thread::sleep_for(rest);
          std::atomic_signal_fence(std::memory_order_seq_cst);
        }
        return !is_over;
      };
      for (int round = 0; round < kRounds && found.empty(); ++round) {
        draw_marks();
        if (!passes(static_cast<std::int64_t>(draw() % most_before), rest.count() > kShortRest)) return;
        mark(marks_);
        std::atomic_thread_fence(std::memory_order_seq_cst);  // no run is counted before all threads see the marks
        if (!passes(kWhole, false)) return;  // runs that do nothing are over at once, and one that works may follow
        std::atomic_thread_fence(std::memory_order_seq_cst);
        // Inputs stay, so that no mark is right by chance; the kernel cannot be run here while it runs there.
        for (const Word& word : marks_)
          if (stands(word)) found = not_written(word);
        ++looked;
      }
    });
  } catch (const std::system_error&) {  // there may be no further one
    until_ = 0;
    looked = kCannotLook;
    return "";
  }
  run_all();
  is_over = true;
  other.join();
  until_ = 0;
  marks_.clear();
  return found;
}

/// Makes only a few stores, so that a run after them cannot be distinguished from another one.
void Workload::plant() {
  for (const Change& one : planned_) put(call_.operands[one.operand], one, one.now);
  changes_.insert(changes_.end(), planned_.begin(), planned_.end());
  planned_.clear();
  mark(marks_);
}

/// Every call of the kernel is made here.
[[gnu::noinline]] void Workload::run_one(const Call& call) {
  if (!kernel_.reset && --until_ == 0) [[unlikely]]
    plant();
  kernel_.run(call);
  if (until_ == 0 && !marks_.empty() && found_.empty()) [[unlikely]]
    found_ = mark_left(marks_);
}

/// A reset may copy the inputs: what is planted comes before.
void Workload::reset_one(const Call& call) {
  constexpr std::size_t kMany = 4096;
  if (--until_ == 0) [[unlikely]]
    plant();
  const auto start = Clock::now();
  kernel_.reset(call);
  if (reset_seconds_.size() < kMany) reset_seconds_.push_back(static_cast<float>(since(start)));
}

namespace {

/// Whether elements of an operand are numbers that a kernel computes with, not places in another array.
bool is_of_numbers(const Operand& operand) {
  return operand.type != Type::int32 && operand.type != Type::uint32 && operand.role == Role::input;
}

}  // namespace

/// Elements with new values, where the problem's family has a rule for them; else two elements, swapped.
std::vector<Change> Workload::draw_changes() {
  constexpr std::size_t kMany = 64;  // elements: of fewer, each has a meaning of its own
  constexpr int kRedrawn = 8;
  std::vector<Change> changes;
  const auto element = [&](std::size_t operand) {
    const std::size_t bytes = type_bytes(buffers_[operand].type);
    Change one{operand, draw() % buffers_[operand].elements * bytes, bytes};
    std::memcpy(one.before.data(), static_cast<const std::byte*>(call_.operands[operand]) + one.offset, bytes);
    one.now = one.before;
    return one;
  };
  const Redraw* const redraw = redraw_of(problem_);
  for (std::size_t i = 0; i < operands_; ++i) {
    if (buffers_[i].elements == 0) continue;
    if (redraw && i == 0) {
      for (int one = 0; one < kRedrawn; ++one) {
        changes.push_back(element(i));
        (*redraw)(call_.params, draw(), changes.back().now.data());
      }
    } else if (is_of_numbers(buffers_[i]) && buffers_[i].elements >= kMany) {
      Change one = element(i), other = element(i);
      std::swap(one.now, other.now);
      changes.insert(changes.end(), {one, other});
    }
  }
  return changes;
}

void Workload::undo_changes() {
  for (auto one = changes_.rbegin(); one != changes_.rend(); ++one)
    put(call_.operands[one->operand], *one, one->before);
  changes_.clear();
}

bool Workload::reads_outputs() const {
  return std::any_of(buffers_.begin(), buffers_.end(), [](const Operand& o) { return o.role == Role::in_out; });
}

void Workload::restore_read() {
  for (std::size_t i = 0; i < operands_; ++i)
    if (buffers_[i].role == Role::in_out && read_[i].size() == buffers_[i].bytes())
      target_.upload(call_.operands[i], read_[i].data(), read_[i].size());
}

void Workload::disturb() { disturb_last(1); }

void Workload::disturb_last(std::int64_t runs) {
  if (found_.empty()) found_ = mark_left(marks_);
  undo_changes();
  restore_read();
  draw_marks();
  planned_ = draw_changes();
  until_ = runs > 1 ? runs : 0;
  if (runs <= 1) plant();
}

std::string Workload::undisturb() {
  until_ = 0;
  if (found_.empty()) found_ = mark_left(marks_);
  undo_changes();
  planned_.clear();
  marks_.clear();
  return std::exchange(found_, "");
}

void Workload::keep_result() {
  kept_.resize(operands_);
  for (std::size_t i = 0; i < operands_; ++i) {
    if (!buffers_[i].is_output()) continue;
    const auto* const bytes = static_cast<const std::byte*>(call_.operands[i]);
    kept_[i].assign(bytes, bytes + buffers_[i].bytes());
  }
  kept_changes_ = changes_;
}

Check Workload::judge_kept(const DataSet& data, std::uint64_t seed) {
  if (kept_.empty()) return {};
  if (data.name != random_reals().name && !redraw_of(problem_)) return {};  // judges may depend on the inputs
  HostInputs inputs(problem_, call_.params, data, seed);
  inputs.change(kept_changes_);
  std::vector<const void*> host;
  for (std::size_t i = 0; i < operands_; ++i)
    host.push_back(buffers_[i].is_output() ? kept_[i].data() : inputs.input(i));
  return inputs.judge(host).within(kernel_.error_bound);
}

constexpr std::size_t kMostMoved = std::size_t{64} << 20;  // bytes of all operands together

std::size_t Workload::all_bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < operands_; ++i) bytes += buffers_[i].bytes();
  return bytes;
}

/// The inputs whose elements may change their places; none if all of them are large together.
std::vector<std::size_t> Workload::movable() const {
  constexpr std::size_t kFewest = 64;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < operands_; ++i) {
    if (buffers_[i].role == Role::input && is_of_numbers(buffers_[i]) && buffers_[i].elements >= kFewest)
      found.push_back(i);
  }
  const bool have_places = redraw_of(problem_) || problem_.flops(call_.params) <= 0;  // or control the run
  const bool is_on_host = target_.is_host_memory() && kernel_.side() == "cpu";
  return is_on_host && !have_places && all_bytes() <= kMostMoved ? found : std::vector<std::size_t>{};
}

/// Of one run after one on the inputs as they are. Both kinds have been written twice, so that caches hold as much.
double Workload::seconds_of_moved(bool is_known) {
  restore_read();
  target_.time(called_, call_, 1, Mode::hot);
  restore_read();
  moved_.assign(operands_, 0);
  for (const std::size_t i : movable()) {
    const std::size_t n = buffers_[i].elements, first = 1 + draw() % (n - 2);
    const std::size_t second = is_known ? n - first : 1 + draw() % (n - 1 - first);
    rotate_operand(call_.operands[i], buffers_[i], first);
    rotate_operand(call_.operands[i], buffers_[i], second);
    moved_[i] = (first + second) % n;
  }
  const double seconds = target_.time(called_, call_, 1, Mode::hot);
  if (!is_known && kept_moved_.empty()) {
    kept_moved_.resize(operands_);
    for (std::size_t i = 0; i < operands_; ++i) {
      const auto* const bytes = static_cast<const std::byte*>(call_.operands[i]);
      if (buffers_[i].is_output()) kept_moved_[i].assign(bytes, bytes + buffers_[i].bytes());
    }
    kept_places_ = moved_;
  }
  for (const std::size_t i : movable())
    if (moved_[i] > 0) rotate_operand(call_.operands[i], buffers_[i], buffers_[i].elements - moved_[i]);
  return seconds;
}

/// The same where elements may have new values, but no other place: a few of them, since many could change the work.
double Workload::seconds_of_redrawn(bool is_known) {
  restore_read();
  target_.time(called_, call_, 1, Mode::hot);
  restore_read();
  const std::vector<Change> changes = draw_changes();
  const auto write = [&](bool has_changed) {
    for (const Change& one : changes) put(call_.operands[one.operand], one, has_changed ? one.now : one.before);
  };
  write(is_known);
  write(!is_known);
  const double seconds = target_.time(called_, call_, 1, Mode::hot);
  for (auto one = changes.rbegin(); one != changes.rend(); ++one) put(call_.operands[one->operand], *one, one->before);
  return seconds;
}

bool Workload::has_redrawn() const {
  return redraw_of(problem_) && target_.is_host_memory() && kernel_.side() == "cpu" && buffers_[0].elements > 0 &&
         all_bytes() <= kMostMoved;
}

std::string Workload::known_inputs_failure() {
  if (movable().empty() && !has_redrawn()) return "";
  const UseThreads own(threads_or_as_now(threads_));
  const std::string found = saved_on_known_inputs();
  restore_read();
  target_.run(called_, call_);  // what is left is a result of the inputs as they are
  return found;
}

std::string Workload::saved_on_known_inputs() {
  constexpr double kLonger = 1.1, kReading = 200e-9, kMostPairs = 0.8, kSeconds = 0.01;
  constexpr int kTries = 4, kFewest = 3, kMost = 15;
  const bool is_moved = !movable().empty();
  const auto seconds_of = [&](bool is_known) {
    return is_moved ? seconds_of_moved(is_known) : seconds_of_redrawn(is_known);
  };
  const double once = seconds_of(true);
  std::vector<double> known, fresh;
  for (int attempt = 1; attempt <= kTries; ++attempt) {  // the machine may have been busy: more of them
    known.clear(), fresh.clear();
    const int rounds = attempt * std::clamp(int(kSeconds / once), kFewest, kMost);
    for (int round = 0; round < rounds; ++round)
      for (const bool is_known : {round % 2 == 0, round % 2 != 0})
        (is_known ? known : fresh).push_back(seconds_of(is_known));
    int longer = 0;
    for (int round = 0; round < rounds; ++round)
      longer += fresh[std::size_t(round)] > kLonger * known[std::size_t(round)] + kReading;
    if (longer < kMostPairs * rounds || median(fresh) <= kLonger * median(known) + kReading) return "";
  }
  return fmt::format(
      "a run takes {:.3g} s on inputs that it has seen, {:.3g} s on new ones: it does not do its work again",
      median(known), median(fresh));
}

std::string Workload::moved_meanwhile_failure(std::int64_t runs) {
  constexpr double kLonger = 1.1;
  constexpr int kTries = 3, kRounds = 12, kLost = 4;  // rounds in which the other thread had no processor
  if (movable().empty() || reads_outputs() || usable_processors() < 2) return "";
  const UseThreads own(threads_or_as_now(threads_));
  std::vector<double> same, moved;
  const auto lower = [](std::vector<double> all) {
    std::sort(all.begin(), all.end());
    return all[all.size() / 4];
  };
  for (int attempt = 1; attempt <= kTries; ++attempt) {
    same.clear(), moved.clear();
    const auto rounds = static_cast<std::size_t>(attempt * kRounds);
    for (std::size_t round = 0; round < kLost * rounds && std::min(same.size(), moved.size()) < rounds; ++round)
      for (const bool moves : {round % 2 == 0, round % 2 != 0})
        if (const std::optional<double> seconds = seconds_while_moved(runs, moves))
          (moves ? moved : same).push_back(*seconds);
    // Other work makes intervals of both kinds longer, some of them; so the shorter ones have to differ, too.
    if (std::min(same.size(), moved.size()) < rounds || median(moved) <= kLonger * median(same) ||
        lower(moved) <= kLonger * lower(same))
      return "";
  }
  return fmt::format(
      "{} runs take {:.3g} s while its inputs stay, {:.3g} s while some of them change: it does not do its work again",
      runs, median(same), median(moved));
}

/// In each turn each place, of many that are spread over the inputs, takes the value of another place. Nothing if there
/// was no turn for most of the runs.
std::optional<double> Workload::seconds_while_moved(std::int64_t runs, bool moves) {
  constexpr std::size_t kPlaces = 1024;
  struct Places {
    std::byte* first;
    std::size_t bytes, step, count;
    std::vector<std::byte> values;
    std::byte* at(std::size_t place) const { return first + place * step * bytes; }
    void put(std::size_t turn) const {
      for (std::size_t i = 0; i < count; ++i) std::memcpy(at(i), &values[(i + turn) % count * bytes], bytes);
    }
  };
  std::vector<Places> every;
  for (const std::size_t i : movable()) {
    Places one{.bytes = type_bytes(buffers_[i].type)};
    one.step = std::max<std::size_t>(1, buffers_[i].elements / kPlaces);
    one.first = static_cast<std::byte*>(call_.operands[i]) + draw() % one.step * one.bytes;
    one.count = (buffers_[i].elements - one.step) / one.step + 1;
    for (std::size_t place = 0; place < one.count; ++place)
      one.values.insert(one.values.end(), one.at(place), one.at(place) + one.bytes);
    every.push_back(std::move(one));
  }
  std::atomic<bool> has_begun = false, is_over = false;
  std::int64_t turns = 0;
  until_ = std::int64_t{1} << 62;  // counts runs down, and marks nothing
  const std::atomic_ref<std::int64_t> left(until_);
  double seconds = 0;
  {
    std::jthread other;
    struct EndsIt {
      std::atomic<bool>& is_over;
      ~EndsIt() { is_over = true; }
    } const ends_it{is_over};
    try {
      other = std::jthread([&] {
        for (; !is_over; ++turns) {
          const std::int64_t before = left;
          for (const Places& one : every) one.put(moves ? static_cast<std::size_t>(turns) + 1 : 0);
          has_begun = true;
          while (left == before && !is_over) std::atomic_signal_fence(std::memory_order_seq_cst);  // once for each run
        }
      });
    } catch (const std::system_error&) {  // there may be no further one
      until_ = 0;
      return std::nullopt;
    }
    while (!has_begun) std::atomic_signal_fence(std::memory_order_seq_cst);
    seconds = target_.time(called_, call_, runs, Mode::hot);
    is_over = true;
    other.join();
  }
  until_ = 0;
  for (const Places& one : every) one.put(0);
  if (2 * turns < runs) return std::nullopt;
  return seconds;
}

Check Workload::judge_moved(const DataSet& data, std::uint64_t seed) {
  if (kept_moved_.empty() || data.name != random_reals().name) return {};  // a judge may rely on the inputs' values
  HostInputs inputs(problem_, call_.params, data, seed);
  std::vector<const void*> host;
  for (std::size_t i = 0; i < operands_; ++i) {
    if (kept_places_[i] > 0) inputs.rotate(i, buffers_[i], kept_places_[i]);
    host.push_back(buffers_[i].is_output() ? kept_moved_[i].data() : inputs.input(i));
  }
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
  double before_runs = 0;
  if (!reset_seconds_.empty()) {
    std::vector<float> all = reset_seconds_;
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
    before_runs = all[all.size() / 2];
  }
  return std::max(before_runs, target_.time(only_reset(), call_, kRuns, Mode::hot) / kRuns);
}

/// Whether a mark is what the kernel writes there: inputs change between runs, and of thousands of marks one is their
/// result by chance. Runs it once more over another mark.
bool Workload::is_right_by_chance(const Word& word) {
  Word other = word;
  other.mark[2] ^= 1;
  mark({other});
  if (!target_.is_host_memory()) {
    target_.run(kernel_, call_);
  } else {
    if (kernel_.reset) kernel_.reset(call_);
    kernel_.run(call_);
  }
  return stands(word);
}

bool Workload::stands(const Word& word) const {
  WordBytes bytes;
  read(word, bytes);
  return bytes == word.mark;
}

std::string Workload::not_written(const Word& word) const {
  return "did not overwrite " + buffers_[word.operand].name + " when it was run again";
}

/// What is wrong if a run left a mark; empty if it left none.
std::string Workload::mark_left(const std::vector<Word>& words) {
  for (const Word& word : words)
    if (stands(word) && !is_right_by_chance(word)) return not_written(word);
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
    target_.run(called_, call_);
    if (std::string failure = mark_left(words); !failure.empty()) return failure;
  }
  return "";
}

/// Marks the outputs as not written right after a run returned: what writes to them later was not timed.
std::string Workload::late_write(const std::vector<Word>& words) {
  constexpr double kLong = 0.1;  // seconds; writes later than this are found when results are judged
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

std::string Workload::left_behind() {
  const std::string changed = signals_.restore();
  return target_.is_host_memory() && kernel_.side() == "cpu" && changed.empty() ? leftovers_.clear() : changed;
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
        return kWroteOutside + buffers_[i].name + ", " + std::to_string(wrong - guard.begin()) +
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
    if (!is_same) return kChangedInput + buffers_[i].name;
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
