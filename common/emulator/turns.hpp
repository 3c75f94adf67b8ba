/// Blocks that wait for each other both ways run in the emulator by turns: each has an OS thread, one of which runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace rung {
inline namespace emulated {

/// While it exists, all blocks of a launch by this OS thread have begun before one of them ends, and so many of them,
/// side by side, are a cluster.
class Together {
 public:
  explicit Together(unsigned blocks_of_cluster = 1);
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  /// Whether one exists on this OS thread.
  static bool is_asked_for();
  /// The blocks of a cluster that the innermost one on this OS thread asks for.
  static unsigned blocks_of_cluster();

 private:
  unsigned outer_;
};

}  // namespace emulated

/// A turn lasts until the block's threads wait, at a barrier or for another block. Turns go round in the order in which
/// the blocks begin; so what a block finds that others have written is the same in every run.
class Turns {
 public:
  explicit Turns(std::size_t blocks) : has_ended_(blocks) {}

  /// Waits until it is this block's turn; false if the launch has failed meanwhile.
  bool await(std::size_t rank);
  /// Gives the turn to the next block and waits for the own next one; false if the launch has failed meanwhile.
  /// `has_moved`: whether any of the block's threads can go on.
  bool pass(std::size_t rank, bool has_moved);
  /// Whether all blocks have passed on their turns lately without having moved. To be called by the one whose turn it
  /// is.
  bool is_stuck();
  /// The block has ended.
  void leave(std::size_t rank);
  /// A block has failed: nobody need wait for it any longer.
  void fail();

 private:
  void advance();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<bool> has_ended_;
  std::size_t now_ = 0;   ///< the rank of the block that runs
  std::size_t idle_ = 0;  ///< turns since one in which a block moved
  bool has_failed_ = false;
};

}  // namespace rung
