/// The textbook's sum by a tree in shared memory: one thread per element, and one launch per level of blocks until one
/// sum is left. The kernels differ in which threads of a block add which two sums.
#pragma once

#include <array>

#include "gpu/simt/simt.hpp"

namespace rung {

using TreeThreads = Choices<256, 128, 512, 1024>;

/// Tree::fold<Threads>(sums): adds up the block's sums into sums[0], each step after a barrier; no barrier follows the
/// last step.
template <typename Tree, int Threads>
__global__ void sum_tree(const mem<float>* x, mem<float>* sums, int n) {
  __shared__ mem<float> tree[Threads];
  const int i = blockIdx.x * Threads + threadIdx.x;
  tree[threadIdx.x] = i < n ? x[i] : 0.0f;
  Tree::template fold<Threads>(tree);
  if (threadIdx.x == 0) sums[blockIdx.x] = tree[0];
}

/// The number of elements that each launch adds up; the last entry is one.
inline std::vector<std::int64_t> tree_levels(const Params& p) {
  std::vector<std::int64_t> levels{p.at("n")};
  do {
    levels.push_back(blocks_for(levels.back(), p.at("threads")));
  } while (levels.back() > 1);
  return levels;
}

/// The sums of the levels alternate between two arrays: the first is as long as the second level, the other as the
/// third.
template <typename Tree>
void sum_by_tree(const Call& call) {
  const std::vector<std::int64_t> levels = tree_levels(call.params);
  const std::array turns{call.operand<mem<float>>(2), call.operand<mem<float>>(3)};
  TreeThreads::pick(call.params.at("threads"), [&](auto threads) {
    const mem<float>* from = call.operand<const mem<float>>(0);
    for (std::size_t level = 1; level < levels.size(); ++level) {
      const bool is_last = level + 1 == levels.size();
      auto* to = is_last ? call.operand<mem<float>>(1) : turns[level % 2];
      Call next = call;
      next.launch.grid = {static_cast<unsigned>(levels[level])};
      launch(next, sum_tree<Tree, threads>, from, to, static_cast<int>(levels[level - 1]));
      from = to;
    }
  });
}

/// Completes a record in which only the kernel's name, texts and sources are set, and adds it.
template <typename Tree>
bool add_tree(Kernel kernel) {
  kernel.tunables = {{"threads", TreeThreads::values()}};
  kernel.scratch = [](const Params& p) {
    const std::int64_t sums = blocks_for(p.at("n"), p.at("threads")), further = blocks_for(sums, p.at("threads"));
    const auto array = [](const char* name, std::int64_t elements) {
      return Operand{.name = name, .elements = static_cast<std::size_t>(elements), .role = Role::scratch};
    };
    return std::vector{array("further sums", further), array("sums", sums)};
  };
  kernel.gpu.launch = [](const Params& p) {
    const std::int64_t threads = p.at("threads");
    return Launch{{blocks_for(p.at("n"), threads)}, {static_cast<unsigned>(threads)}};
  };
  kernel.gpu.requested = [](const Params& p) {
    Traffic traffic;
    const std::vector<std::int64_t> levels = tree_levels(p);
    for (std::size_t level = 1; level < levels.size(); ++level) {
      traffic.loaded += 4.0 * static_cast<double>(levels[level - 1]);
      traffic.stored += 4.0 * static_cast<double>(levels[level]);
    }
    return traffic;
  };
  kernel.run = sum_by_tree<Tree>;
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace rung
