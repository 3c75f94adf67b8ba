/// The host's cores as a target: memory, the clock, the flushed cache, and the machine's context keys.
#include <fmt/core.h>
#include <malloc.h>
#include <omp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "common/machine/cpu_events.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/host_memory.hpp"
#include "common/machine/openblas.hpp"
#include "common/machine/parts.hpp"
#include "common/machine/process_settings.hpp"
#include "common/machine/rapl.hpp"
#include "common/machine/target.hpp"
#include "common/system_call.hpp"

namespace rung {
namespace {

constexpr std::size_t kPage = 4096;
constexpr double kResolved = 5e-3;  // seconds; of processor time, which the system may count in steps of a millisecond
constexpr std::size_t kAssumedCache = 64u << 20;  // flushed where the size of the last-level cache is not known

/// Mean clock of the processors in MHz, where the system measures it: a hypervisor's nominal figure does not count.
std::optional<double> clock_mhz() {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < omp_get_num_procs(); ++i) {
    std::ifstream file("/sys/devices/system/cpu/cpu" + std::to_string(i) + "/cpufreq/scaling_cur_freq");
    if (double khz = 0; file >> khz) sum += khz / 1000, ++count;
  }
  if (count == 0 && cpu_info().is_virtual == false) {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
      if (line.starts_with("cpu MHz")) sum += std::strtod(line.c_str() + line.find(':') + 1, nullptr), ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / count;
}

/// "madvise" (only on request, as here), "always" or "never"; empty if the system does not report it.
std::string huge_pages() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");  // "always [madvise] never"
  std::string choices;
  std::getline(file, choices);
  const std::size_t open = choices.find('['), close = choices.find(']');
  return close == std::string::npos ? "" : choices.substr(open + 1, close - open - 1);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

const char* proc_bind_name() {
  switch (omp_get_proc_bind()) {
    case omp_proc_bind_false:
      return "false";
    case omp_proc_bind_true:
      return "true";
    case omp_proc_bind_master:
      return "primary";
    case omp_proc_bind_close:
      return "close";
    case omp_proc_bind_spread:
      return "spread";
    default:
      return "unknown";
  }
}

/// The threads of this process other than the calling one. Without /proc nothing is known.
std::set<int> other_threads() {
  std::set<int> others;
  std::error_code none;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", none))
    others.insert(std::atoi(thread.path().filename().c_str()));
  others.erase(gettid());
  return others;
}

/// Those of them that are on a core or wait for one.
std::set<int> others_that_run() {
  std::set<int> others = other_threads();
  std::erase_if(others, [](int thread) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string line;  // "4711 (name) R …": a name may hold blanks and parentheses
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')');
    return name_end == std::string::npos || line.compare(name_end, 3, ") R") != 0;
  });
  return others;
}

class Host final : public Target {
 public:
  Host() { omp_set_num_threads(cpu_threads()); }
  ~Host() override {
    if (flush_) release(flush_);
  }

  /// What was freed and is still mapped goes back to the system first where that has less than half of its memory left.
  std::size_t free_bytes() const override {
    if (available_memory() < cpu_info().memory_bytes / 2) malloc_trim(0);
    return available_memory();
  }

  /// Arrays are first touched by all threads, each its share, so that on a machine with several memories a thread that
  /// later works on its share finds it near.
  void* allocate(std::size_t bytes) override {
    Array array = kept_array(bytes);
    if (!array.memory.data()) {
      while (!kept_.empty() && bytes > available_memory()) kept_.pop_front();
      if (bytes > available_memory())
        throw Error("no memory on the host for " + std::to_string(bytes / 1000000) + " MB: use a smaller size");
      array = {HostMemory(bytes), omp_get_max_threads()};
      touch(reinterpret_cast<char*>(array.memory.data()), bytes);
    }
    void* const memory = array.memory.data();
    arrays_[memory] = std::move(array);
    return memory;
  }
  void release(void* memory) noexcept override {
    const auto used = arrays_.find(memory);
    if (used == arrays_.end()) return;
    if (used->second.memory.bytes() >= HostMemory::kLarge) kept_.push_back(std::move(used->second));
    arrays_.erase(used);
    while (!kept_.empty() && kept_bytes() > available_memory() / 4) kept_.pop_front();
  }
  void release_kept() override { kept_.clear(); }
  void upload(void* to, const void* host, std::size_t bytes) override { copy(to, host, bytes); }
  void download(void* host, const void* from, std::size_t bytes) override { copy(host, from, bytes); }
  bool is_host_memory() const override { return true; }
  bool holds(const void* memory, const void* host, std::size_t bytes) override {
    bool same = true;
    each_part(bytes, [&](std::size_t begin, std::size_t count) {
      const auto *one = static_cast<const char*>(memory) + begin, *other = static_cast<const char*>(host) + begin;
      if (std::memcmp(one, other, count) != 0)
#pragma omp atomic write
        same = false;
    });
    return same;
  }
  bool is_filled(const void* memory, std::size_t bytes, unsigned char byte) override {
    std::atomic<bool> same = true;
    each_part(bytes, [&](std::size_t begin, std::size_t count) {
      if (!all_are(static_cast<const std::byte*>(memory) + begin, byte, count)) same = false;
    });
    return same;
  }
  void poison(void* buffer, std::size_t bytes, unsigned char byte) override {
    each_part(bytes, [&](std::size_t begin, std::size_t count) {
      std::memset(static_cast<char*>(buffer) + begin, byte, count);
    });
  }

  std::string refuse(const Kernel& kernel, const Call&) const override {
    return kernel.side() == "cpu" ? "" : "runs on the " + kernel.side() + ", not on the host's cores";
  }

  /// A process in which some thread never rests is waited for once. Clang's OpenMP spins for 200 ms.
  void settle(const std::set<int>& own) override {
    using namespace std::chrono_literals;
    const auto start = Clock::now();
    while (can_settle_ && !std::ranges::includes(own, others_that_run())) {
      std::this_thread::sleep_for(1ms);
      can_settle_ = Clock::now() - start < 250ms;
    }
  }
  std::set<int> busy_threads() const override { return others_that_run(); }
  void end_idle_threads() override {
    restore_process();  // a thread that ends may need memory and a library
    omp_pause_resource_all(omp_pause_soft);
  }

  void run(const Kernel& kernel, const Call& call) override {
    if (kernel.reset) kernel.reset(call);
    repeat(kernel, call, 1, {});
    end_copies();
  }

  double time(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode) override {
    energy_j_.reset();
    restore_process();
    const int threads = omp_get_max_threads();
    const BothClocks start = BothClocks::now();
    const Look look = Look::now();
    const bool counts_each = mode == Mode::cold || kernel.reset;  // a flush and a reset may use all processors
    Clocks used;
    const Clocks before = Clocks::at_start();
    const double took = mode == Mode::hot && !kernel.reset && !prepare_
                            ? time_batch(kernel, call, runs)
                            : time_each(kernel, call, runs, mode, counts_each ? &used : nullptr);
    if (!counts_each) used = Clocks::at_end().since(before);
    end_copies();
    omp_set_num_threads(threads);
    set_processor_time(used);
    check_clock(start);
    disturbance_ = Look::now().since(look);
    return took;
  }
  bool prepare_runs(std::function<void()> prepare) override {
    prepare_ = std::move(prepare);
    return true;
  }
  std::optional<ProcessorTime> processor_time() const override { return processor_time_; }
  void restore_process() override { settings_.restore(); }
  std::set<int> threads() const override { return other_threads(); }
  std::set<int> restless_threads() override {
    constexpr double kPatience = 0.5, kRan = 0.25, kMost = 5;  // seconds; on a busy machine idle threads end late
    std::set<int> restless = others_that_run();
    if (restless.empty()) return {};
    end_idle_threads();
    const Clocks start = Clocks::at_start();
    double waited = 0, ran = 0;
    while (!restless.empty() && (waited < kPatience || ran < kRan) && waited < kMost) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      const std::set<int> now = others_that_run();
      std::erase_if(restless, [&](int thread) { return !now.contains(thread); });
      const Clocks later = Clocks::at_end().since(start);
      waited = later.system, ran = later.process;
    }
    return ran < kRan ? std::set<int>{} : restless;
  }
  Disturbance disturbance() override { return disturbance_; }

  /// Reading steady_clock costs some 25 ns; but after the harness's own work between two samples, runs find cold branch
  /// predictors and caches, and AVX-512 code has its full rate only after half a millisecond (a product of N = 64 took
  /// 4.4 us after 2 ms of reading files, 3.1 from the 200th call on): some 50 us in all, half a per cent of this.
  double resolved_seconds() const override { return 10e-3; }

  std::optional<double> energy_j() const override { return energy_j_; }
  double energy_seconds() const override {
    return rapl_.unavailable().empty() ? kRaplSeconds : std::numeric_limits<double>::infinity();
  }

  std::map<std::string, double> events(const Kernel& kernel, const Call& call, std::int64_t runs) override {
    if (events_.available().empty() || kernel.reset) return {};
    auto counts = events_.count([&] {
      for (std::int64_t i = 0; i < runs; ++i) kernel.run(call);
    });
    for (auto& [key, count] : counts) count /= static_cast<double>(runs);
    return counts;
  }

  DeviceState state() override { return {.clock_mhz = clock_mhz(), .throttled = ""}; }

  nlohmann::json context() const override {
    const CpuInfo& cpu = cpu_info();
    nlohmann::json all = {
        {"cpu_name", cpu.name},
        {"cpu_cores", cpu.cores},
        {"cpu_hardware_threads", cpu.hardware_threads},
        {"cpu_threads", cpu_threads()},
        {"cpu_simd", cpu.simd},
        {"cpu_l1d_bytes", cpu.l1d_bytes},
        {"cpu_l2_bytes", cpu.l2_bytes},
        {"cpu_l3_bytes", cpu.l3_bytes},
        {"cpu_l3_all_bytes", cpu.all_l3_bytes},
        {"memory_bytes", cpu.memory_bytes},
        {"huge_pages", huge_pages()},
        {"cpu_governor", cpu.governor},
        {"smt", cpu.has_smt()},
        {"omp_num_threads", environment("OMP_NUM_THREADS")},
        {"omp_proc_bind", proc_bind_name()},
        {"omp_places", environment("OMP_PLACES")},
    };
    if (cpu.is_virtual) all["virtualised"] = *cpu.is_virtual;
    rapl_.unavailable().empty() ? all["energy_source"] = rapl_.source()
                                : all["energy_unavailable"] = rapl_.unavailable();
    for (const EventSum& quantity : events_.available()) all["cpu_events"].push_back(quantity.key);
    if (!events_.unavailable().empty()) all["cpu_events_unavailable"] = events_.unavailable();
    all.update(openblas_context());
    return all;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

  /// Processor time of this process and of its children that have ended.
  static double process_seconds() {
    rusage children{};
    getrusage(RUSAGE_CHILDREN, &children);
    const auto of = [](const timeval& time) { return double(time.tv_sec) + 1e-6 * double(time.tv_usec); };
    return system_seconds(CLOCK_PROCESS_CPUTIME_ID) + of(children.ru_utime) + of(children.ru_stime);
  }

  /// The system's clock, and the processor time of the process and of the calling thread, in seconds. The process's
  /// time is read between the readings of the thread's time: the cost of reading counts as the thread's.
  struct Clocks {
    double system = 0, process = 0, thread = 0;
    static Clocks at_start() {
      const double thread = system_seconds(CLOCK_THREAD_CPUTIME_ID), process = process_seconds();
      return {system_seconds(CLOCK_MONOTONIC), process, thread};
    }
    static Clocks at_end() {
      const double process = process_seconds(), thread = system_seconds(CLOCK_THREAD_CPUTIME_ID);
      return {system_seconds(CLOCK_MONOTONIC), process, thread};
    }
    Clocks since(const Clocks& start) const {
      return {system - start.system, process - start.process, thread - start.thread};
    }
    void add(const Clocks& more) { system += more.system, process += more.process, thread += more.thread; }
  };

  /// The program's clock, read between two readings of the system's own, in seconds: of a few tries the one in which
  /// the thread kept its processor.
  struct BothClocks {
    double steady = 0, before = 0, after = 0;
    static BothClocks now() {
      constexpr int kTries = 5;
      constexpr double kShort = 5e-6;
      BothClocks best;
      for (int i = 0; i < kTries; ++i) {
        BothClocks one;
        one.before = system_seconds(CLOCK_MONOTONIC);
        one.steady = seconds(Clock::now().time_since_epoch());
        one.after = system_seconds(CLOCK_MONOTONIC);
        if (i == 0 || one.after - one.before < best.after - best.before) best = one;
        if (best.after - best.before < kShort) break;
      }
      return best;
    }
  };

  /// Compares the clock that times with the system's own.
  void check_clock(const BothClocks& start) {
    constexpr double kShare = 0.02, kReading = 50e-6;  // seconds
    constexpr int kManyWrong = 4;
    const BothClocks end = BothClocks::now();
    const double steady = end.steady - start.steady, least = end.before - start.after, most = end.after - start.before;
    const double margin = kShare * most + kReading;
    wrong_clocks_ = steady < least - margin || steady > most + margin ? wrong_clocks_ + 1 : 0;
    if (wrong_clocks_ >= kManyWrong)
      throw Error(
          fmt::format("the program's clock counts {:.3g} s where the system's counts {:.3g} s: a library "
                      "(LD_PRELOAD) or a kernel's file stands in for it",
                      steady, most));
  }

  void set_processor_time(const Clocks& used) {
    processor_time_.reset();
    if (used.thread >= kResolved) processor_time_ = {used.process / used.system, used.process / used.thread};
  }

  /// A process that a kernel has forked off, and in which it returned as well, measures nothing.
  void end_copies() const {
    if (getpid() != process_) _exit(0);
  }

  /// Calls the kernel. Every call is made here, timed or not; `before_each` is called before each. To `used`, if given,
  /// is added what the clocks counted during the calls alone.
  [[gnu::noinline]] static double repeat(const Kernel& kernel, const Call& call, std::int64_t runs,
                                         const std::function<void()>& before_each, Clocks* used = nullptr) {
    double total = 0;
    Clocks before;
    auto start = Clock::now();
    for (std::int64_t i = 0; i < runs; ++i) {
      if (before_each) {
        before_each();
        if (used) before = Clocks::at_start();
        start = Clock::now();
      }
      kernel.run(call);
      if (before_each) total += seconds(Clock::now() - start);
      if (used) used->add(Clocks::at_end().since(before));
    }
    return before_each ? total : seconds(Clock::now() - start);
  }

  double time_batch(const Kernel& kernel, const Call& call, std::int64_t runs) {
    const std::vector<std::uint64_t> before = rapl_.read();
    const double took = repeat(kernel, call, runs, {});
    if (took >= kRaplSeconds) energy_j_ = rapl_.joules(before, rapl_.read());
    return took;
  }

  /// What comes before a run, a flush of the caches or the kernel's reset, is not timed. All threads flush: before a
  /// serial kernel those that look for more work are waited for, whose time would count as its own.
  double time_each(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode, Clocks* used) {
    const auto prepare = [&] {
      if (prepare_) prepare_();
      if (kernel.reset) kernel.reset(call);
      if (mode == Mode::cold) flush_caches();
      if (mode == Mode::cold && kernel.cpu.is_serial) settle({});
    };
    return repeat(kernel, call, runs, prepare, used);
  }

  /// Memory, and how many threads have touched it first.
  struct Array {
    HostMemory memory;
    int threads = 0;
  };

  /// The system's clearing of new pages may take longer than work on them, so the next array of the same size and
  /// number of threads reuses the pages of a large released one. Empty if there are none.
  Array kept_array(std::size_t bytes) {
    const auto fits = [&](const Array& one) {
      return one.memory.bytes() == bytes && one.threads == omp_get_max_threads();
    };
    const auto found = std::ranges::find_if(kept_, fits);
    if (found == kept_.end()) return {};
    Array array = std::move(*found);
    kept_.erase(found);
    return array;
  }

  std::size_t kept_bytes() const {
    std::size_t bytes = 0;
    for (const Array& one : kept_) bytes += one.memory.bytes();
    return bytes;
  }

  static void copy(void* to, const void* from, std::size_t bytes) {
    each_part(bytes, [&](std::size_t begin, std::size_t count) {
      std::memcpy(static_cast<char*>(to) + begin, static_cast<const char*>(from) + begin, count);
    });
  }

  static void touch(char* memory, std::size_t bytes) {
    const auto pages = static_cast<std::int64_t>((bytes + kPage - 1) / kPage);
#pragma omp parallel for schedule(static)
    for (std::int64_t page = 0; page < pages; ++page) memory[page * kPage] = 0;
  }

  /// Reads and writes twice the size of all caches, each thread its share, so that every core's own caches and every
  /// shared one give up what the last run left.
  void flush_caches() {
    if (!flush_) {
      const CpuInfo& cpu = cpu_info();
      const std::size_t cached = cpu.all_l2_bytes + cpu.all_l3_bytes;
      flush_bytes_ = round_up(2 * std::max(cached, cpu.all_l3_bytes ? 0 : kAssumedCache), kPage);
      flush_ = static_cast<char*>(allocate(flush_bytes_));
    }
    const auto lines = static_cast<std::int64_t>(flush_bytes_ / 64);
#pragma omp parallel for schedule(static)
    for (std::int64_t line = 0; line < lines; ++line) ++flush_[line * 64];
  }

  const pid_t process_ = getpid();
  const ProcessSettings settings_ = ProcessSettings::now();
  bool can_settle_ = true;
  Disturbance disturbance_;
  std::function<void()> prepare_;
  int wrong_clocks_ = 0;  ///< intervals in a row
  std::optional<ProcessorTime> processor_time_;
  Rapl rapl_;
  std::optional<double> energy_j_;
  CpuEvents events_;
  std::map<void*, Array> arrays_;  ///< in use, by where they begin
  std::deque<Array> kept_;         ///< large ones that were released, the first one first
  char* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Target> open_host() { return std::make_unique<Host>(); }

}  // namespace rung
