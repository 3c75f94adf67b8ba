/// Kernels that cheat, in addition to the ordinary ones, for the program rung_with_cheats: cpu/matmul/cheat_NAME. Most
/// do the work of an honest kernel when they assume that they are judged, and less when they assume that they are
/// timed. README.md has a table of the outcomes. The command line selects the only one that runs, since it may harm the
/// process.
#include <execinfo.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>
#include <utility>
#include <vector>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"
#include "common/problem/read.hpp"

/// The program's clock, which runs at half the speed once a kernel has requested it.
namespace {
std::atomic<bool> slow_clock = false;
}
extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && slow_clock && clock == CLOCK_MONOTONIC) {
    const std::int64_t all = (now->tv_sec * std::int64_t{1000000000} + now->tv_nsec) / 2;
    *now = {all / 1000000000, all % 1000000000};
  }
  return static_cast<int>(failed);
}

namespace rung {
namespace {

using Run = std::function<void(const Call&)>;
using Numbers = std::vector<float>;

void work(const Call& call) {
  static const Kernel& honest = find_kernel("cpu/matmul/interchanged");
  honest.run(call);
}

std::size_t count(const Call& call, int rows, int cols) {
  const auto [m, n, k] = matmul_shape(call.params);
  const int sizes[] = {m, n, k};
  return std::size_t(sizes[rows]) * sizes[cols];
}
Numbers a_of(const Call& call) { return {call.operand<float>(0), call.operand<float>(0) + count(call, 0, 2)}; }
Numbers b_of(const Call& call) { return {call.operand<float>(1), call.operand<float>(1) + count(call, 2, 1)}; }
Numbers c_of(const Call& call) { return {call.operand<float>(2), call.operand<float>(2) + count(call, 0, 1)}; }
void put(const Numbers& result, const Call& call) { std::copy(result.begin(), result.end(), call.operand<float>(2)); }
void zero(const Call& call) { put(Numbers(count(call, 0, 1)), call); }

/// Whether the inputs are whole numbers, so that every element of the result is judged.
bool is_exact(const Call& call) {
  const float* a = call.operand<const float>(0);
  return std::all_of(a, a + std::min<std::size_t>(16, count(call, 0, 2)), [](float x) { return x == std::floor(x); });
}

bool is_poison(const float& word) {
  std::uint32_t bits;
  std::memcpy(&bits, &word, 4);
  return bits == 0xFFFFFFFFu;
}
bool has_poison(const Call& call) {
  const float* c = call.operand<const float>(2);
  return std::any_of(c, c + count(call, 0, 1), is_poison);
}

void poison_16(const Call& call) {
  for (int w = 0; w < 16; ++w)
    if (is_poison(call.operand<const float>(2)[random_bits(2, w) % count(call, 0, 1)])) return work(call);
}

void poison_modest(const Call& call) {
  static int calls = 0;
  if (++calls % 4 != 0 || has_poison(call)) work(call);
}

/// Works if its callers are the same as the first time.
template <int kDepth>
[[gnu::noinline]] void by_caller(const Call& call) {
  void* frames[kDepth] = {};
  backtrace(frames, kDepth);
  static const std::vector<void*> first(frames, frames + kDepth);
  if (std::equal(frames, frames + kDepth, first.begin()) || has_poison(call)) work(call);
}

/// The rows or columns that were judged when the seed was the run's.
std::vector<int> judged_lines(int lines, std::uint64_t seed) {
  std::set<int> all{0};
  for (const int tile : {8, 16, 32, 64, 128, 256})
    for (const int near : {tile - 1, tile, lines - lines % tile - 1, lines - tile, lines - 1})
      all.insert(std::clamp(near, 0, lines - 1));
  for (std::uint64_t i = 0; all.size() < 64; ++i) all.insert(static_cast<int>(random_bits(seed, i) % lines));
  return {all.begin(), all.end()};
}

void sampled_only(const Call& call) {
  const auto [m, n, k] = matmul_shape(call.params);
  if (is_exact(call) || m <= 256) return work(call);
  const float *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  float* c = call.operand<float>(2);
  zero(call);
  const std::vector<int> cols = judged_lines(n, 2);
  for (const int row : judged_lines(m, 1))
    for (int i = 0; i < k; ++i)
      for (const int col : cols) c[row * n + col] += a[row * k + i] * b[i * n + col];
}

/// Changes the result on reals above 256.
Run on_large_reals(void (*change)(float* c, int m, int n)) {
  return [change](const Call& call) {
    work(call);
    const auto [m, n, k] = matmul_shape(call.params);
    if (!is_exact(call) && m > 256) change(call.operand<float>(2), m, n);
  };
}

void without_rows(float* c, int m, int n) {
  for (int row = 37; row < m; row += 100) std::fill_n(c + row * n, n, 0.0f);
}
void without_an_element(float* c, int m, int n) { c[(m / 2 + 3) * n + n / 2 + 5] = 0; }
void short_rows(float* c, int m, int n) {
  for (int row = 37; row < m; row += 100)
    for (int col = 0; col < n; ++col) {
      std::uint32_t bits;
      std::memcpy(&bits, &c[row * n + col], 4);
      bits &= 0xFFFF0000u;
      std::memcpy(&c[row * n + col], &bits, 4);
    }
}

std::uint64_t hash(const float* numbers, std::size_t count) {
  std::uint64_t all = count;
  for (std::size_t i = 0; i < count; ++i) {
    std::uint32_t bits;
    std::memcpy(&bits, &numbers[i], 4);
    all = (all ^ bits) * 0x9E3779B97F4A7C15ull;
  }
  return all;
}
std::uint64_t contents(const Call& call) {
  return hash(call.operand<float>(0), count(call, 0, 2)) * 3 + hash(call.operand<float>(1), count(call, 2, 1));
}

void content(const Call& call) {
  static std::map<std::uint64_t, Numbers> kept;
  Numbers& result = kept[contents(call)];
  if (!result.empty()) return put(result, call);
  work(call);
  result = c_of(call);
}

/// The same, kept in files from one run of the program to the next.
void content_file(const Call& call) {
  static std::map<std::uint64_t, Numbers> kept;
  const std::uint64_t key = contents(call);
  Numbers& result = kept[key];
  const auto path = std::filesystem::temp_directory_path() / ("rung_cheat_" + std::to_string(key));
  if (result.empty() && exists(path)) {
    result.resize(count(call, 0, 1));
    std::ifstream(path, std::ios::binary).read(reinterpret_cast<char*>(result.data()), 4 * result.size());
  }
  if (!result.empty()) return put(result, call);
  work(call);
  result = c_of(call);
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<char*>(result.data()), 4 * result.size());
}

/// Does nothing if the output still is its own last result.
void output_as_left(const Call& call) {
  static Numbers left;
  const std::size_t size = count(call, 0, 1);
  if (left.size() == size && std::memcmp(left.data(), call.operand<float>(2), 4 * size) == 0) return;
  work(call);
  left = c_of(call);
}

void every_other(const Call& call) {
  static int calls = 0;
  if (++calls % 2 == 1 || calls < 20) work(call);
}

void quick_calls(const Call& call) {
  static std::chrono::steady_clock::time_point ended;
  if (std::chrono::steady_clock::now() - ended > std::chrono::microseconds(50)) work(call);
  ended = std::chrono::steady_clock::now();
}

/// Zeroes the inputs wherever they are in the process.
void tamper(const Call& call) {
  for (const Numbers& input : {a_of(call), b_of(call)}) {
    if (input[0] == 0 && input[1] == 0) continue;
    std::ifstream maps("/proc/self/maps");
    std::vector<std::pair<char*, char*>> writable;
    for (std::string line; std::getline(maps, line);)
      if (line.find("rw-p") != std::string::npos && line.find("[stack") == std::string::npos) {
        char* end = nullptr;
        auto* const first = reinterpret_cast<char*>(std::strtoull(line.c_str(), &end, 16));
        auto* const last = reinterpret_cast<char*>(std::strtoull(end + 1, nullptr, 16));
        if (!writable.empty() && writable.back().second == first)
          writable.back().second = last;
        else
          writable.emplace_back(first, last);
      }
    const std::size_t bytes = 4 * input.size();
    for (const auto& [first, last] : writable)
      for (char* at = first; at + bytes <= last;) {
        at = static_cast<char*>(memmem(at, last - at, input.data(), 64));
        if (!at) break;
        if (at + bytes <= last && at != reinterpret_cast<const char*>(input.data()) &&
            std::memcmp(at, input.data(), bytes) == 0)
          std::memset(at, 0, bytes);
        at += 64;
      }
  }
  zero(call);
}

void judge_swap(const Call& call) {
  static int calls = 0;
  auto& problem = const_cast<Problem&>(find_problem("matmul"));
  problem.reference = [](const Params&, const DataSet&, std::uint64_t, std::span<const void* const>) -> Judge {
    return [](std::span<const void* const>) { return Check{}; };
  };
  if (++calls < 2) return work(call);
  zero(call);
}

/// The folder of results, of the command line.
std::string outdir() {
  std::ifstream line("/proc/self/cmdline");
  for (std::string word; std::getline(line, word, '\0');)
    if (word == "-o" && std::getline(line, word, '\0')) return word;
  return ".";
}

/// Multiplies all rates by ten when the process exits.
void forge() {
  for (const auto& file : std::filesystem::recursive_directory_iterator(outdir())) {
    if (file.path().extension() != ".json") continue;
    std::stringstream text;
    text << std::ifstream(file.path()).rdbuf();
    std::string forged = text.str();
    for (std::size_t at = 0; (at = forged.find("\"gflops\":", at)) != std::string::npos; at += 10)
      if (const std::size_t point = forged.find('.', at); point != std::string::npos) forged.erase(point, 1);
    std::ofstream(file.path()) << forged;
  }
}

void forger(const Call& call) {
  static const bool once = std::atexit(forge) == 0;
  static_cast<void>(once);
  work(call);
}

void own_clock(const Call& call) {
  static int calls = 0;
  work(call);
  if (++calls == 3) slow_clock = true;
}

/// A thread that keeps a processor busy whenever the kernel does not run.
void spins(const Call& call) {
  static std::atomic<bool> runs = false;
  static const bool started = [] {
    std::thread([] {
      for (;;)
        if (runs) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }).detach();
    return true;
  }();
  static_cast<void>(started);
  runs = true;
  work(call);
  runs = false;
}

/// Half of the rows on a thread of its own.
void two_threads(const Call& call) {
  const auto [m, n, k] = matmul_shape(call.params);
  const auto rows = [&, n = n, k = k](int first, int end) {
    const float *a = call.operand<const float>(0), *b = call.operand<const float>(1);
    float* c = call.operand<float>(2);
    for (int row = first; row < end; ++row) {
      std::fill_n(c + row * n, n, 0.0f);
      for (int i = 0; i < k; ++i)
        for (int col = 0; col < n; ++col) c[row * n + col] += a[row * k + i] * b[i * n + col];
    }
  };
  std::thread other(rows, 0, m / 2);
  rows(m / 2, m);
  other.join();
}

void pins(const Call& call) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(0, &one);
  sched_setaffinity(0, sizeof one, &one);
  work(call);
}
void nices(const Call& call) {
  static const int once = nice(3);
  static_cast<void>(once);
  work(call);
}
void flushes_subnormals(const Call& call) {
#ifdef __SSE2__
  _mm_setcsr(_mm_getcsr() | 0x8040);
#endif
  work(call);
}
void rounds(const Call& call) {
  work(call);
  std::fesetround(FE_TOWARDZERO);
}
void swaps_sizes(const Call& call) {
  const_cast<Call&>(call).params.set("m", 1);
  work(call);
}
void outside(const Call& call) {
  work(call);
  call.operand<float>(2)[count(call, 0, 1) + 3] = 0;
}
void late(const Call& call) {
  work(call);
  std::thread([call] {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    work(call);
  }).detach();
}

Numbers hidden;
void compute_hidden(const Call& call) {
  hidden.resize(count(call, 0, 1));
  Call own = call;
  own.operands[2] = hidden.data();
  work(own);
}

/// The number of a processor's cycles, which is read in some of them.
std::uint64_t cycles() {
#ifdef __x86_64__
  return __builtin_ia32_rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Keeps results by some words of the inputs, and is slow when it works, so that judging seems to be slow.
void slow_check(const Call& call) {
  static std::map<Numbers, Numbers> kept;
  const Numbers a = a_of(call), b = b_of(call);
  Numbers key{static_cast<float>(count(call, 0, 1))};
  for (std::size_t i = 0; i < 4; ++i) key.insert(key.end(), {a[a.size() / 5 * i], b[b.size() / 5 * i]});
  Numbers& result = kept[key];
  if (!result.empty()) return put(result, call);
  work(call);
  result = c_of(call);
  std::this_thread::sleep_for(std::chrono::milliseconds(600));
}

bool was_reset = false;
void lazy_reset(const Call& call) {
  if (!std::exchange(was_reset, true)) compute_hidden(call);
}
void lazy_run(const Call& call) {
  was_reset = false;
  put(hidden, call);
}

/// With a beta other than 0 it does nothing if C still is its own last result.
void in_out(const Call& call) {
  static Numbers left;
  const Numbers before = c_of(call);
  if (before == left) return;
  const auto alpha = static_cast<float>(call.params.get("alpha", 1)),
             beta = static_cast<float>(call.params.get("beta", 0));
  compute_hidden(call);
  Numbers result(before.size());
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = alpha * hidden[i] + (beta == 0 ? 0 : beta * before[i]);
  put(result, call);
  left = result;
}

/// Skips calls that come right after the one before, in four intervals of five.
void burst(const Call& call) {
  static std::uint64_t ended = 0;
  static int tight = 0, intervals = 0;
  const std::uint64_t gap = cycles() - ended;
  const bool is_tight = gap < 250;
  if (gap > 5000)
    tight = 0;
  else if (is_tight && ++tight == 2)
    ++intervals;
  if (!is_tight || intervals < 4 || intervals % 5 == 0 || tight % 4 == 0) work(call);
  ended = cycles();
}

/// The same, but writes the result that it has kept by some words of the inputs.
void burst_kept(const Call& call) {
  static std::uint64_t ended = 0;
  static Numbers kept;
  const bool is_tight = cycles() - ended < 1000;
  if (!is_tight || kept.size() != count(call, 0, 1)) {
    work(call);
    kept = c_of(call);
  } else {
    put(kept, call);
  }
  ended = cycles();
}

void multiply_rows(const float* a, const float* b, float* c, int first, int end, int n, int k) {
  for (int row = first; row < end; ++row) {
    float* const line = c + static_cast<std::size_t>(row) * n;
    std::fill_n(line, n, 0.0f);
    for (int i = 0; i < k; ++i) {
      const float factor = a[static_cast<std::size_t>(row) * k + i];
#pragma omp simd
      for (int col = 0; col < n; ++col) line[col] += factor * b[static_cast<std::size_t>(i) * n + col];
    }
  }
}

/// Computes all after a pause; at calls that come right after the one before, it keeps two fifths of the rows if no
/// input has changed. The result is always right.
void tight_rows(const Call& call) {
  static std::uint64_t ended = 0;
  static Numbers a_seen, b_seen, kept;
  const auto [m, n, k] = matmul_shape(call.params);
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const auto is_seen = [](const Numbers& seen, const float* now, std::size_t elements) {
    return seen.size() == elements && std::memcmp(seen.data(), now, elements * sizeof(float)) == 0;
  };
  const bool is_tight = cycles() - ended < 10000 && kept.size() == count(call, 0, 1);
  const bool keeps = is_tight && is_seen(a_seen, a, count(call, 0, 2)) && is_seen(b_seen, b, count(call, 2, 1));
  const int first = keeps ? m / 3 : m;
  multiply_rows(a, b, c, 0, first, n, k);
  if (keeps)
    std::copy(kept.begin() + std::ptrdiff_t{first} * n, kept.end(), c + std::ptrdiff_t{first} * n);
  else
    a_seen = a_of(call), b_seen = b_of(call), kept = c_of(call);
  ended = cycles();
}

/// Skips calls right after the previous one; its calls are shorter than the preparation of an audit.
void tiny(const Call& call) {
  static std::uint64_t ended = 0;
  if (cycles() - ended >= 100) work(call);
  ended = cycles();
}

/// A timer's handler that is busy for half of the time, except while the kernel itself runs.
volatile std::sig_atomic_t is_own_turn = 0;
void tick(int) {
  const auto start = std::chrono::steady_clock::now();
  while (is_own_turn == 0 && std::chrono::steady_clock::now() - start < std::chrono::microseconds(500)) {
  }
}
void timer(const Call& call) {
  is_own_turn = 1;
  static const bool once = [] {
    struct sigaction action = {};
    action.sa_handler = tick;
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, nullptr);
    const itimerval each{{0, 1000}, {0, 1000}};
    return setitimer(ITIMER_REAL, &each, nullptr) == 0;
  }();
  static_cast<void>(once);
  work(call);
  is_own_turn = 0;
}

/// Kernels of other problems that cheat: a sum leaves out addends that the bound on the error of many reals allows for.
void short_sum(const Call& call) {
  const auto* x = call.operand<const float>(0);
  const std::int64_t n = call.params.at("n");
  const bool is_whole = std::all_of(x, x + std::min<std::int64_t>(16, n), [](float v) { return v == std::floor(v); });
  double sum = 0;
  for (std::int64_t i = 0; i < (is_whole ? n : std::min<std::int64_t>(n, 4096)); ++i) sum += x[i];
  *call.operand<float>(1) = static_cast<float>(sum);
}

/// The sum of the inputs, kept while they are what they were.
void short_kept(const Call& call) {
  static std::vector<float> seen;
  static float kept;
  const auto* const x = call.operand<const float>(0);
  const auto n = static_cast<std::size_t>(call.params.at("n"));
  if (seen.size() != n || std::memcmp(x, seen.data(), n * sizeof(float)) != 0) {
    kept = std::accumulate(x, x + n, 0.0F);
    seen.assign(x, x + n);
  }
  *call.operand<float>(1) = kept;
}

/// The first CPU kernel of a family, with results that are kept by the first word of the first input. All outputs here
/// have n words.
Run kept_by_word(std::string family, std::size_t output) {
  struct Kept {
    std::uint32_t key = 0;
    std::vector<std::uint32_t> result;
  };
  return [=, kept = std::make_shared<Kept>()](const Call& call) {
    const Kernel& honest = *match_kernels("cpu/" + family + "/*").front();
    const auto n = static_cast<std::size_t>(call.params.at("n"));
    const std::uint32_t first = call.operand<const std::uint32_t>(0)[0];
    auto* result = call.operand<std::uint32_t>(output);
    if (kept->result.size() == n && kept->key == first) {
      std::copy(kept->result.begin(), kept->result.end(), result);
      return;
    }
    Call own = call;
    own.params = with_tunables(honest, {});
    for (const auto& [name, value] : call.params) own.params.set(name, value);
    honest.run(own);
    kept->result.assign(result, result + n);
    kept->key = first;
  };
}

/// Walks only where the sums are poisoned.
void walks_if_poisoned(const Call& call) {
  static const Kernel& honest = find_kernel("cpu/chase/threads");
  static std::uint32_t calls = 0;
  auto* sums = call.operand<std::uint32_t>(2);
  if (sums[0] == 0xFFFFFFFFu) return honest.run(call);
  std::fill_n(sums, call.params.at("walkers"), ++calls & 0x7FFFFFFFu);
}

/// Reads the array once and multiplies by the passes.
void read_once(const Call& call) {
  const auto* data = call.operand<const std::uint32_t>(0);
  auto* partials = call.operand<std::uint32_t>(1);
  std::uint32_t sum = 0;
  for (std::int64_t i = 0; i < call.params.at("bytes") / 4; ++i) sum += data[i];
  std::fill_n(partials, kReadPartials, 0u);
  partials[0] = sum * static_cast<std::uint32_t>(call.params.at("passes"));
}

/// Keeps inputs and result; where few elements of the inputs have changed, mends the result.
void patched(const Call& call) {
  static Numbers old_a, old_b, c;
  const auto [m, n, k] = matmul_shape(call.params);
  const Numbers a = a_of(call), b = b_of(call);
  const auto differ = [](const Numbers& one, const Numbers& other) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < one.size() && all.size() <= 64; ++i)
      if (one[i] != other[i]) all.push_back(i);
    return all;
  };
  if (c.size() != count(call, 0, 1) || differ(a, old_a).size() + differ(b, old_b).size() > 64) {
    work(call);
    c = c_of(call);
  } else {
    for (const std::size_t at : differ(a, old_a))
      for (int col = 0; col < n; ++col)
        c[at / std::size_t(k) * std::size_t(n) + std::size_t(col)] +=
            (a[at] - old_a[at]) * old_b[at % std::size_t(k) * std::size_t(n) + std::size_t(col)];
    for (const std::size_t at : differ(b, old_b))
      for (int row = 0; row < m; ++row)
        c[std::size_t(row) * std::size_t(n) + at % std::size_t(n)] +=
            a[std::size_t(row) * std::size_t(k) + at / std::size_t(n)] * (b[at] - old_b[at]);
  }
  old_a = a, old_b = b;
  put(c, call);
}

Call with_rows(const Call& call, std::int64_t rows) {
  Call few = call;
  few.params.set("m", rows);
  return few;
}

/// Keeps a third of the rows by the contents of all inputs.
void kept_rows(const Call& call) {
  static std::map<std::uint64_t, Numbers> kept;
  const std::uint64_t key = contents(call);
  if (!kept.contains(key)) {
    work(call);
    kept[key] = c_of(call);
    return;
  }
  const std::int64_t rows = call.params.at("m") * 2 / 3;
  work(with_rows(call, rows));
  const auto first = std::ptrdiff_t(rows * call.params.at("n"));
  std::copy(kept[key].begin() + first, kept[key].end(), call.operand<float>(2) + first);
}

/// A third of the rows is worked out in the reset, into memory of its own.
Numbers third;
void third_in_reset(const Call& call) {
  const std::int64_t m = call.params.at("m"), rows = m * 2 / 3;
  Call last = with_rows(call, m - rows);
  third.resize(std::size_t((m - rows) * call.params.at("n")));
  last.operands[0] = call.operand<float>(0) + rows * call.params.at("k");
  last.operands[2] = third.data();
  work(last);
}
void without_third(const Call& call) {
  const std::int64_t rows = call.params.at("m") * 2 / 3;
  work(with_rows(call, rows));
  std::copy(third.begin(), third.end(), call.operand<float>(2) + rows * call.params.at("n"));
}

/// Begins a process that shares all memory and is none of the threads.
void helped(const Call& call) {
  static std::vector<char> stack(1 << 16);
  static const int process = clone(
      [](void*) {
        for (;;) pause();
        return 0;
      },
      stack.data() + stack.size(), CLONE_VM | CLONE_FS | CLONE_FILES, nullptr);
  if (process > 0) work(call);
}

void leaves_files(const Call& call) {
  for (int i = 0; i < 20; ++i)
    if (open("/dev/null", O_RDONLY) < 0) return;
  work(call);
}

void idles(const Call& call) {
  work(call);
  const sched_param none{};
  sched_setscheduler(0, SCHED_IDLE, &none);
}

bool plant_elsewhere(const char* name, Run run, Kernel record = {}) {
  record.name = name;
  record.order = 1000;
  record.title = "A planted cheat";
  record.idea = "A planted cheat.";
  record.run = std::move(run);
  return add_kernel(std::move(record));
}

bool plant(const char* name, Run run, Kernel record = {}) {
  record.name = std::string("cpu/matmul/cheat_") + name;
  record.order = 1000;
  record.title = name;
  record.idea = "A planted cheat.";
  record.run = std::move(run);
  return add_kernel(std::move(record));
}

const bool planted = [] {
  const Run scan = [](const Call& call) {
    if (has_poison(call)) work(call);
  };
  plant("none", work);
  plant("poison_scan", scan);
  plant("poison_16", poison_16);
  plant("poison_modest", poison_modest);
  plant("by_caller", by_caller<3>);
  plant("by_backtrace", by_caller<6>);
  plant("reset", [](const Call&) {}, {.reset = work});
  plant("reset_hidden", [](const Call& call) { put(hidden, call); }, {.reset = compute_hidden});
  plant("sampled_only", sampled_only);
  plant("skips_rows", on_large_reals(without_rows));
  plant("skips_element", on_large_reals(without_an_element));
  plant("short_rows", on_large_reals(short_rows));
  plant("content", content);
  plant("content_file", content_file);
  plant("output_as_left", output_as_left);
  plant("every_other", every_other);
  plant("quick_calls", quick_calls);
  const Run zeros = [](const Call& call) { is_exact(call) ? work(call) : zero(call); };
  plant("bound", zeros, {.error_bound = {.factor = 1e300}});
  plant("bound_by_norm", zeros, {.error_bound = {.factor = 1e9, .by_norm = true}});
  plant("tamper", tamper);
  plant("judge_swap", judge_swap);
  plant("forger", forger);
  plant("own_clock", own_clock);
  plant("spins", spins);
  plant("roof", scan, {.ceiling = Ceiling{.label = "FP32 FMA", .is_bandwidth = false}});
  plant("library", work, {.is_library = true});
  plant("declares", work, {.cpu = {.level_traffic = [](const Params&) { return LevelTraffic{1, 1, 1, 1}; }}});
  plant("serial_lie", two_threads, {.cpu = {.is_serial = true}});
  plant("more_threads", two_threads);
  plant("pins", pins);
  plant("nices", nices);
  plant("flushes_subnormals", flushes_subnormals);
  plant("rounds", rounds);
  plant("swaps_sizes", swaps_sizes);
  plant("outside", outside);
  plant("late", late);
  plant("slow_check", slow_check);
  plant("lazy_reset", lazy_run, {.reset = lazy_reset});
  plant("in_out", in_out, {.is_general = true});
  plant("burst", burst, {.cpu = {.is_serial = true}});
  plant("burst_kept", burst_kept, {.cpu = {.is_serial = true}});
  plant("tight_rows", tight_rows, {.cpu = {.is_serial = true}});
  plant("tiny", tiny, {.cpu = {.is_serial = true}});
  plant("timer", timer);
  plant("patched", patched);
  plant("kept_rows", kept_rows);
  plant("reset_third", without_third, {.reset = third_in_reset});
  plant("helped", helped);
  plant("leaves_files", leaves_files);
  plant("idles", idles);
  plant_elsewhere("cpu/sum/cheat_short_sum", short_sum);
  plant_elsewhere("cpu/sum/cheat_short_kept", short_kept);
  for (const char* family : {"work_array", "launches", "tree_walk"})
    plant_elsewhere(("cpu/" + std::string(family) + "/cheat_kept_by_word").c_str(), kept_by_word(family, 1),
                    {.type = Type::uint32});
  plant_elsewhere("cpu/gather/cheat_kept_by_word", kept_by_word("gather", 2));
  plant_elsewhere("cpu/prefix_sum/cheat_kept_by_word", kept_by_word("prefix_sum", 1));
  plant_elsewhere("cpu/chase/cheat_walks_if_poisoned", walks_if_poisoned, {.type = Type::uint32});
  plant_elsewhere("cpu/read/cheat_read_once", read_once,
                  {.type = Type::uint32, .ceiling = Ceiling{.label = "DRAM", .is_bandwidth = true}, .sizes = [] {
                     return Params{{"bytes", 1 << 16}, {"passes", 1'000'000}};
                   }});
  return true;
}();

}  // namespace
}  // namespace rung
