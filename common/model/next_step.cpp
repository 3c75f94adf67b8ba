#include "common/model/next_step.hpp"

#include <algorithm>

namespace rung {
namespace {

/// The largest value from `least` to `most` of `resource` with `blocks` resident; -1 if there is none. More of a
/// resource never gives more blocks, so bisection finds it.
std::int64_t most_of(const SmLimits& sm, BlockNeeds block, std::int64_t BlockNeeds::*resource, std::int64_t least,
                     std::int64_t most, int blocks) {
  const auto fits = [&](std::int64_t value) {
    block.*resource = value;
    return occupancy(sm, block).blocks_per_sm >= blocks;
  };
  if (!fits(least)) return -1;
  while (least < most) {
    const std::int64_t middle = least + (most - least + 1) / 2;
    if (fits(middle))
      least = middle;
    else
      most = middle - 1;
  }
  return least;
}

class Search {
 public:
  Search(const SmLimits& sm, const BlockNeeds& block) : sm_(sm), block_(block), now_(occupancy(sm, block)) {}

  std::vector<NextStep> all() {
    if (fewer_along_z()) return steps_;
    const bool fewer = fewer_registers(), less = less_shared();
    if (!fewer && !less) less_of_both();
    other_size(-kWarp);
    other_size(kWarp);
    return steps_;
  }

 private:
  bool add(const BlockNeeds& block) {
    const Occupancy then = occupancy(sm_, block);
    if (then.warps <= now_.warps) return false;
    steps_.push_back({block, then});
    return true;
  }

  /// As many threads, in a block that is as deep as it may be.
  bool fewer_along_z() {
    if (block_.z <= sm_.threads_along_z) return false;
    BlockNeeds block = block_;
    block.z = sm_.threads_along_z;
    return add(block);
  }

  bool fewer_registers() {
    BlockNeeds block = block_;
    block.registers_per_thread = most_registers(sm_, block, now_.blocks_per_sm + 1);
    return block.registers_per_thread > 0 && block.registers_per_thread < block_.registers_per_thread && add(block);
  }

  bool less_shared() {
    BlockNeeds block = block_;
    block.shared_bytes = most_shared_bytes(sm_, block, now_.blocks_per_sm + 1);
    return block.shared_bytes >= 0 && block.shared_bytes < block_.shared_bytes && add(block);
  }

  /// Each as much as it may be while the other takes nothing: together they fit, since the limits are independent.
  void less_of_both() {
    if (block_.registers_per_thread == 0 || block_.shared_bytes == 0) return;
    const int blocks = now_.blocks_per_sm + 1;
    BlockNeeds no_shared = block_, no_registers = block_;
    no_shared.shared_bytes = no_registers.registers_per_thread = 0;
    const std::int64_t registers = most_registers(sm_, no_shared, blocks);
    const std::int64_t shared = most_shared_bytes(sm_, no_registers, blocks);
    if (registers < 1 || shared < 0) return;
    BlockNeeds block = block_;
    block.registers_per_thread = std::min(registers, block_.registers_per_thread);
    block.shared_bytes = std::min(shared, block_.shared_bytes);
    add(block);
  }

  void other_size(int step) {
    BlockNeeds block = block_;
    block.z = 1;  // in a row, which any number of threads may be
    block.threads = (block.threads + kWarp - 1) / kWarp * kWarp;
    block.threads = std::min<std::int64_t>(block.threads, sm_.threads_per_block + kWarp);
    for (block.threads += step; block.threads >= kWarp && block.threads <= sm_.threads_per_block; block.threads += step)
      if (add(block)) return;
  }

  const SmLimits& sm_;
  BlockNeeds block_;
  Occupancy now_;
  std::vector<NextStep> steps_;
};

}  // namespace

std::int64_t most_registers(const SmLimits& sm, BlockNeeds block, int blocks) {
  return most_of(sm, block, &BlockNeeds::registers_per_thread, 1, sm.registers_per_thread, blocks);
}

std::int64_t most_shared_bytes(const SmLimits& sm, BlockNeeds block, int blocks) {
  return most_of(sm, block, &BlockNeeds::shared_bytes, 0, sm.shared_per_block_optin, blocks);
}

std::vector<NextStep> next_steps(const SmLimits& sm, const BlockNeeds& block) { return Search(sm, block).all(); }

}  // namespace rung
