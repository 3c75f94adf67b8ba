/// The happens-before relation among the accesses of a launch: which of them barriers, fences and flags order.
///
/// A block's time is its epoch: the number of its barriers and fences so far, warp barriers included. An access is
/// identified by its block, thread and epoch. Within a block, one epoch (the last block barrier's) orders all threads,
/// and a vector clock of each thread orders it after other lanes of its warp. Between blocks, a release publishes such
/// clocks at a flag, and an acquire takes over the releases that the flag has so far. Barriers of some threads
/// (mbarriers, named barriers, a cluster's) hand over clocks of all threads of the cluster; only blocks that use them
/// have such clocks.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rung {

constexpr unsigned kMaxThreadsPerBlock = 1024;
constexpr unsigned kLanesPerWarp = 32;

/// A vector clock over a warp: for each lane, the epoch up to which its accesses happen before. 0 is none.
using WarpClock = std::array<std::uint32_t, kLanesPerWarp>;

/// A release at a flag: the accesses of its block that happen before an acquire that observes it.
struct Release {
  std::uint32_t block = 0, thread = 0;
  std::uint32_t epoch = 0;                                     ///< of the store to the flag
  std::uint32_t bytes = 0;                                     ///< of the flag
  std::uint32_t block_epoch = 0;                               ///< covers every thread up to this epoch, and beyond it:
  std::vector<std::pair<std::uint32_t, std::uint32_t>> lanes;  ///< a thread and its epoch
  std::shared_ptr<const std::vector<std::uint32_t>> by_thread;  ///< an epoch for each thread; may be null

  bool covers(std::uint32_t of_thread, std::uint32_t at) const {
    if (at <= block_epoch || (by_thread && at <= (*by_thread)[of_thread])) return true;
    return std::any_of(lanes.begin(), lanes.end(),
                       [&](auto lane) { return lane.first == of_thread && at <= lane.second; });
  }
};

/// The first `count` releases at a flag.
struct Acquired {
  std::uint32_t flag = 0, count = 0;
};
/// A vector clock over flags: for each flag, the number of its releases that happen before.
using FlagClock = std::vector<Acquired>;

/// What threads that arrive at a barrier of some threads hand to the threads that wait for it: for each thread of the
/// cluster, the epoch up to which its accesses happen before, and the epoch up to which a proxy fence has made them
/// visible to the asynchronous units (async.hpp).
struct Handed {
  std::vector<std::uint32_t> seen, published;  ///< by rank in the cluster and thread; empty if nothing
  FlagClock acquired;
};

/// The flags of a launch and the releases at each. An acquire stores the number of releases only, so that both are
/// cheap when thousands of blocks count at one flag. Safe to use from several OS threads.
class SyncFlags {
 public:
  /// `inherited`: what the releasing thread has itself acquired; a release is cumulative.
  void release(std::uintptr_t address, Release release, const FlagClock& inherited);
  bool has_releases() const { return has_releases_; }
  /// What a load of the address acquires; count is 0 if nothing.
  Acquired acquire(std::uintptr_t address) const;
  /// Whether the access to `address` by that thread at that epoch happens before an access by the owner of `clock`.
  bool covers(const FlagClock& clock, std::uint32_t block, std::uint32_t thread, std::uint32_t epoch,
              std::uintptr_t address) const;

 private:
  struct Flag {
    std::uintptr_t address = 0;
    std::vector<Release> releases;
    std::unordered_map<std::uint32_t, std::vector<std::uint32_t>> by_block;  ///< indices of its releases
    std::vector<std::pair<std::uint32_t, Acquired>> inherited;               ///< with the release of this index
    std::unordered_map<std::uint32_t, std::uint32_t> newest;                 ///< the largest count inherited, by flag
  };
  mutable std::mutex mutex_;
  std::atomic<bool> has_releases_ = false;
  std::deque<Flag> flags_;
  std::unordered_map<std::uintptr_t, std::uint32_t> index_;
};

/// The happens-before relation as one block sees it: among its own threads, and after releases by other blocks. Serves
/// the blocks of one launch, one after the other, on one OS thread.
class HappensBefore {
 public:
  /// `threads` of a block; epochs up to `last_epoch` are distinguished. `flags` outlives the launch's blocks.
  /// `cluster`: the blocks of a cluster, side by side.
  void begin_launch(SyncFlags& flags, unsigned threads, std::uint32_t last_epoch, unsigned cluster = 1);
  void begin_block(std::uint32_t block);

  std::uint32_t epoch() const { return epoch_; }
  /// Whether the access by thread `other` of this block at that epoch happens before the next one by `thread`.
  bool is_ordered(std::uint32_t other, std::uint32_t epoch, std::uint32_t thread) const {
    return other == thread || epoch <= epoch_before(thread, other);
  }
  /// Whether any thread has acquired a release.
  bool has_acquired() const { return has_acquired_; }
  /// Whether an acquired release orders that access, of any block, before the next one by `thread`.
  bool is_released_to(std::uint32_t thread, std::uint32_t block, std::uint32_t other, std::uint32_t epoch,
                      std::uintptr_t address) const;

  /// Whether the access by a thread of the cluster's block of this rank happens before the next one by `thread`. Of
  /// other blocks: only barriers of some threads order it.
  bool has_seen(std::uint32_t thread, std::uint32_t rank, std::uint32_t other, std::uint32_t epoch) const {
    if (rank == rank_) return is_ordered(other, epoch, thread);
    return has_wide_ && epoch <= seen_[place_in(thread, rank, other)];
  }
  /// Whether, in addition, a proxy fence is between it and the next operation that `thread` issues to a unit.
  bool is_published(std::uint32_t thread, std::uint32_t rank, std::uint32_t other, std::uint32_t epoch) const {
    return has_wide_ && epoch <= published_[place_in(thread, rank, other)];
  }

  /// The thread arrives at a barrier of some threads, or has waited for it.
  void arrive(std::uint32_t thread, Handed& to);
  void wait(std::uint32_t thread, const Handed& from);
  /// A unit has finished an operation of the thread: threads that wait for `to` see it. Returns the epoch of its end.
  std::uint32_t finish(std::uint32_t thread, Handed& to);
  /// A fence.proxy.async.
  void proxy_fence(std::uint32_t thread);

  void block_barrier();
  /// By `lanes` of the warp whose first thread is `first`; lanes beyond the end of the block are ignored.
  void warp_barrier(std::uint32_t first, std::uint32_t lanes);
  /// A __threadfence.
  void fence(std::uint32_t thread);
  /// A plain store to global memory.
  void plain_store(std::uint32_t thread) { last_store_[thread] = epoch_; }
  /// Before the thread's atomic or volatile store of `bytes` to `address`: releases what its fences cover.
  void release(std::uint32_t thread, std::uintptr_t address, unsigned bytes);
  /// The thread is about to load the flag at `address`; finish_acquire() follows when the load has been made.
  void begin_acquire(std::uint32_t thread, std::uintptr_t address) {
    acquiring_thread_ = thread;
    acquiring_ = address;
  }
  void finish_acquire() {
    if (acquiring_) acquire();
  }

 private:
  /// A thread's last __threadfence: the accesses that it covers.
  struct Fence {
    WarpClock lanes{};
    std::uint32_t block_epoch = 0;
    std::vector<std::uint32_t> seen{};  ///< of each thread of the block, if there are such clocks
  };

  /// Up to which epoch the accesses of `other` happen before the next one of `thread`, another thread of the block.
  std::uint32_t epoch_before(std::uint32_t thread, std::uint32_t other) const {
    const std::uint32_t before = thread / kLanesPerWarp == other / kLanesPerWarp
                                     ? std::max(barrier_epoch_, clocks_[thread][other % kLanesPerWarp])
                                     : barrier_epoch_;
    return has_wide_ ? std::max(before, seen_[place_in(thread, rank_, other)]) : before;
  }
  std::size_t place_in(std::uint32_t thread, std::uint32_t rank, std::uint32_t other) const {
    return std::size_t{thread} * width_ + rank * threads_ + other;
  }
  void widen();
  void clock_of(std::uint32_t thread, std::uint32_t* clock) const;
  void share_wide(std::uint32_t first, std::uint32_t count, std::uint32_t lanes);
  /// Stops at the last epoch: from then on, all accesses of the block count as ordered.
  void advance() { epoch_ = std::min(epoch_ + 1, last_epoch_); }
  void acquire();
  void merge_fences();
  std::vector<std::uint32_t> covered_by_fences(std::uint32_t thread) const;

  SyncFlags* flags_ = nullptr;
  unsigned threads_ = 0;
  std::uint32_t block_ = 0;

  std::uint32_t epoch_ = 1, barrier_epoch_ = 0, last_epoch_ = 0;
  std::vector<WarpClock> clocks_ = std::vector<WarpClock>(kMaxThreadsPerBlock);  ///< by thread
  bool has_clocks_ = false;                                                      ///< some clock is not zero

  // For barriers of some threads: of each thread, clocks over all threads of the cluster, by rank and thread.
  bool has_wide_ = false;
  unsigned cluster_ = 1;
  std::uint32_t rank_ = 0, width_ = 0;
  std::vector<std::uint32_t> seen_, published_;

  // What fences cover. Those since the last barrier are in `fences_`; those before it, merged, in the last two.
  bool has_fences_ = false;
  std::vector<std::uint32_t> fenced_threads_;  ///< since the last barrier
  std::vector<Fence> fences_ = std::vector<Fence>(kMaxThreadsPerBlock);
  std::uint32_t fenced_epoch_ = 0;                                      ///< of every thread
  std::shared_ptr<const std::vector<std::uint32_t>> fenced_by_thread_;  ///< of each thread
  std::vector<std::uint32_t> last_store_ =
      std::vector<std::uint32_t>(kMaxThreadsPerBlock);  ///< plain, to global memory
  std::vector<std::pair<std::uintptr_t, std::uint32_t>> last_release_{kMaxThreadsPerBlock};  ///< flag and epoch

  // What has been acquired: by all threads before the last barrier, and by single ones since.
  bool has_acquired_ = false;
  FlagClock acquired_;
  std::map<std::uint32_t, FlagClock> acquired_by_thread_;
  std::uintptr_t acquiring_ = 0;  ///< the flag of a load that has been reported but not made; 0 if there is none
  std::uint32_t acquiring_thread_ = 0;
};

}  // namespace rung
