/// Runs one of the planted faults on the GPU, for compute-sanitizer to watch (`cmake --build build --target
/// faulty_kernels` builds it):
///   faulty_kernels --list            every name, one a line; those that never end have " runaway" after them
///   faulty_kernels NAME              runs it once, each buffer a cudaMalloc of exactly its size
///   faulty_kernels NAME LAUNCHES     runs it so often, on inputs that are not zero, and prints how many of the results
///                                    differ from its right twin's; or why that says nothing of it
/// Exit codes: 0 it ran, 1 CUDA reports an error (printed), 2 wrong usage, or a kernel that never ends.
#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <string_view>
#include <vector>

#include "gpu/host/cuda_error.hpp"
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

void list() {
  for (const Faulty& faulty : faulty_kernels())
    std::printf("%s%s\n", faulty.name.c_str(), faulty.runs_away ? " runaway" : "");
}

void* allocate(const FaultyBuffer& buffer) {
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, buffer.bytes), "allocating a buffer");
  if (buffer.is_initialised) check_cuda(cudaMemset(memory, 0, buffer.bytes), "initialising a buffer");
  return memory;
}

void run(const Faulty& faulty) {
  Call call;
  call.launch = faulty.launch;
  for (const FaultyBuffer& buffer : faulty.buffers) call.operands.push_back(allocate(buffer));
  faulty.run(call);
  check_cuda(cudaDeviceSynchronize(), "waiting for the kernel");
  for (void* memory : call.operands) check_cuda(cudaFree(memory), "releasing a buffer");
}

using Words = std::vector<std::uint32_t>;

/// Their values, where they have any. Of other inputs: numbers that are no zero either as floats or as integers, and
/// every third one zero, for kernels that count these. All others: zeros, as in a single run.
Words initial(const FaultyBuffer& buffer) {
  Words words(buffer.bytes / sizeof(std::uint32_t), 0);
  if (!buffer.values.empty()) {
    std::transform(buffer.values.begin(), buffer.values.end(), words.begin(), std::bit_cast<std::uint32_t, float>);
    return words;
  }
  constexpr std::string_view kInputs[] = {"in", "a", "b", "array"};
  const bool is_input = std::find(std::begin(kInputs), std::end(kInputs), buffer.name) != std::end(kInputs);
  for (std::size_t i = 0; is_input && i < words.size(); ++i)
    words[i] = i % 3 == 2 ? 0 : std::bit_cast<std::uint32_t>(1.0f + static_cast<float>(i % 61));
  return words;
}

/// The buffers of a fault and its twin on the GPU.
class Bench {
 public:
  explicit Bench(const Faulty& faulty) {
    call_.launch = faulty.launch;
    for (const FaultyBuffer& buffer : faulty.buffers) {
      call_.operands.push_back(allocate(buffer));
      before_.push_back(initial(buffer));
    }
  }
  ~Bench() {
    for (void* memory : call_.operands) cudaFree(memory);
  }
  Bench(const Bench&) = delete;
  Bench& operator=(const Bench&) = delete;

  const std::vector<Words>& before() const { return before_; }

  /// All buffers after a launch on what they hold before.
  std::vector<Words> after(const std::function<void(const Call&)>& launch) {
    for (std::size_t i = 0; i < before_.size(); ++i)
      check_cuda(cudaMemcpy(call_.operands[i], before_[i].data(), 4 * before_[i].size(), cudaMemcpyHostToDevice),
                 "filling a buffer");
    launch(call_);
    check_cuda(cudaDeviceSynchronize(), "waiting for the kernel");
    std::vector<Words> all = before_;
    for (std::size_t i = 0; i < all.size(); ++i)
      check_cuda(cudaMemcpy(all[i].data(), call_.operands[i], 4 * all[i].size(), cudaMemcpyDeviceToHost),
                 "reading a buffer");
    return all;
  }

 private:
  Call call_;
  std::vector<Words> before_;
};

/// Which elements have changed, in all buffers: 1 for each that has.
std::vector<Words> changed(const std::vector<Words>& before, const std::vector<Words>& after) {
  std::vector<Words> all = after;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < all[i].size(); ++j) all[i][j] = before[i][j] != after[i][j];
  return all;
}

void count_wrong(const Faulty& faulty, int launches) {
  const Faulty* twin = twin_of(faulty);
  if (!twin) return void(std::puts("no right twin"));
  Bench bench(faulty);
  const std::vector<Words> right = bench.after(twin->run);
  for (int i = 0; i < launches; ++i)
    if (bench.after(twin->run) != right) return void(std::puts("the right twin's results differ, too"));
  const auto none = [](const Words& words) {
    return std::all_of(words.begin(), words.end(), [](auto w) { return w == 0; });
  };
  const std::vector<Words> changes = changed(bench.before(), right);
  if (std::all_of(changes.begin(), changes.end(), none)) return void(std::puts("the right twin changes nothing"));
  int wrong = 0;
  bool same_elements = false, other_buffer = false;
  for (int i = 0; i < launches; ++i) {
    const std::vector<Words> result = bench.after(faulty.run);
    const std::vector<Words> its = changed(bench.before(), result);
    wrong += result != right;
    same_elements |= its == changes;
    for (std::size_t b = 0; b < its.size(); ++b) other_buffer |= none(changes[b]) && !none(its[b]);
  }
  if (other_buffer) return void(std::puts("stores into another buffer than its right twin"));
  if (!same_elements) return void(std::puts("stores other elements than its right twin"));
  std::printf("%d\n", wrong);
}

int run(std::string_view name, int launches) {
  const auto& all = faulty_kernels();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Faulty& faulty) { return faulty.name == name; });
  if (found == all.end() || found->runs_away) {
    std::fprintf(stderr, "faulty_kernels: %.*s: %s\n", int(name.size()), name.data(),
                 found == all.end() ? "no such kernel; see --list" : "never ends, so it is not run");
    return 2;
  }
  try {
    launches > 0 ? count_wrong(*found, launches) : run(*found);
  } catch (const Error& error) {
    std::printf("%s: %s\n", found->name.c_str(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 || argc == 3 ? argv[1] : "";
  const int launches = argc == 3 ? std::atoi(argv[2]) : 0;
  if (argument.empty() || (argc == 3 && launches < 1)) {
    std::fputs("usage: faulty_kernels --list | NAME [LAUNCHES]\n", stderr);
    return 2;
  }
  if (argument != "--list") return rung::run(argument, launches);
  rung::list();
  return 0;
}
