/// Launches each pattern once on the GPU, for Nsight Compute to count; count.sh builds and runs it.
///   patterns PART PARTS    those whose number has this remainder; prints the identity of each, a line
/// Exit codes: 0 done, 1 CUDA reports an error, 2 wrong usage.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "gpu/simt/simt.hpp"
#include "tests/emulator/patterns/patterns.hpp"

namespace rung {

void throw_cuda(cudaError_t error, const char* asked) {
  throw Error(std::string(asked) + ": " + cudaGetErrorString(error));
}

/// As gpu/host/launch.cpp does it, without what a kernel's record needs.
void launch_on_device(const Call& call, const void* kernel, void** arguments, LaunchKind) {
  const auto& [grid, block, dynamic_bytes] = call.launch;
  check_cuda(cudaLaunchKernel(kernel, {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, arguments, dynamic_bytes,
                              nullptr),
             "launching a pattern");
}

namespace {

void run(const Pattern& pattern, const Call& operands) {
  Call call = operands;
  call.launch = {{1}, {pattern.threads}};
  check_cuda(cudaMemcpy(call.operands[0], pattern.words.data(), pattern.words.size() * sizeof(pattern.words[0]),
                        cudaMemcpyHostToDevice),
             "filling the words");
  for (const int i : {1, 2}) check_cuda(cudaMemset(call.operands[i], 0, kPatternBytes), "clearing a buffer");
  std::printf("%s\n", pattern.identity().c_str());
  pattern.run(call);
  check_cuda(cudaDeviceSynchronize(), "waiting for a pattern");
}

void run_part(std::size_t part, std::size_t parts) {
  Call call;
  call.operands.resize(3);
  for (auto& memory : call.operands) check_cuda(cudaMalloc(&memory, kPatternBytes), "allocating a buffer");
  const std::vector<Pattern> patterns = all_patterns();
  for (std::size_t i = part; i < patterns.size(); i += parts) run(patterns[i], call);
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  const int part = argc == 3 ? std::atoi(argv[1]) : -1, parts = argc == 3 ? std::atoi(argv[2]) : 0;
  if (part < 0 || part >= parts) {
    std::fputs("usage: patterns PART PARTS\n", stderr);
    return 2;
  }
  try {
    rung::run_part(static_cast<std::size_t>(part), static_cast<std::size_t>(parts));
  } catch (const rung::Error& error) {
    std::printf("%s\n", error.what());
    return 1;
  }
  return 0;
}
