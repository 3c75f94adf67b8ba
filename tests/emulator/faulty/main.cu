/// Runs one of the planted faults on the GPU, for compute-sanitizer to watch:
///   faulty_kernels --list    every name, one a line; those that never end have " runaway" after them
///   faulty_kernels NAME      runs it once, each buffer a cudaMalloc of exactly its size
/// Exit codes: 0 it ran, 1 CUDA reports an error (printed), 2 wrong usage, or a kernel that never ends.
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "gpu/cuda_error.hpp"
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

int run(std::string_view name) {
  const auto& all = faulty_kernels();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Faulty& faulty) { return faulty.name == name; });
  if (found == all.end() || found->runs_away) {
    std::fprintf(stderr, "faulty_kernels: %.*s: %s\n", int(name.size()), name.data(),
                 found == all.end() ? "no such kernel; see --list" : "never ends, so it is not run");
    return 2;
  }
  try {
    run(*found);
  } catch (const Error& error) {
    std::printf("%s: %s\n", found->name.c_str(), error.what());
    return 1;
  }
  return 0;
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  const std::string_view argument = argc == 2 ? argv[1] : "";
  if (argument.empty()) {
    std::fputs("usage: faulty_kernels --list | NAME\n", stderr);
    return 2;
  }
  if (argument != "--list") return rung::run(argument);
  rung::list();
  return 0;
}
