/// Blocks that wait for each other run round-robin in the emulator: each has an OS thread, and one thread runs.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <vector>

namespace rung {
inline namespace emulated {

/// While one exists, all blocks of a launch by this OS thread begin before any of them ends, and each
/// `blocks_of_cluster` neighbouring blocks form a cluster.
class Together {
 public:
  explicit Together(unsigned blocks_of_cluster = 1);
  ~Together();
  Together(const Together&) = delete;
  Together& operator=(const Together&) = delete;

  /// Whether one exists on this OS thread.
  static bool is_asked_for();
  /// The blocks of a cluster, as the innermost one on this OS thread sets them; 1 without one.
  static unsigned blocks_of_cluster();

 private:
  unsigned outer_;
};

}  // namespace emulated

/// A turn lasts until the block's threads wait, at a barrier or for another block. The blocks take turns in the order
/// in which they begin, so a block sees the same writes of other blocks in every run.
class Turns {
 public:
  explicit Turns(std::size_t blocks) : has_ended_(blocks) {}

  /// Waits until it is this block's turn; false if the launch has failed meanwhile.
  bool await(std::size_t rank);
  /// Gives the turn to the next block and waits for this block's next turn; false if the launch has failed meanwhile.
  /// `has_moved`: whether any of the block's threads can continue.
  bool pass(std::size_t rank, bool has_moved);
  /// Whether all blocks have passed their latest turns without progress. To be called by the block whose turn it is.
  bool is_stuck();
  /// The block has ended.
  void leave(std::size_t rank);
  /// A block has failed: no block need wait for it any longer.
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
