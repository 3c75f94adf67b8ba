#include "common/emulator/happens_before.hpp"

#include <bit>

namespace rung {
namespace {

void join(FlagClock& clock, Acquired other) {
  for (Acquired& own : clock)
    if (own.flag == other.flag) {
      own.count = std::max(own.count, other.count);
      return;
    }
  clock.push_back(other);
}
void join(FlagClock& clock, const FlagClock& other) {
  for (const Acquired& acquired : other) join(clock, acquired);
}

}  // namespace

void SyncFlags::release(std::uintptr_t address, Release release, const FlagClock& inherited) {
  const std::lock_guard guard(mutex_);
  const auto [place, is_new] = index_.try_emplace(address, static_cast<std::uint32_t>(flags_.size()));
  if (is_new) flags_.push_back({.address = address, .releases = {}, .by_block = {}, .inherited = {}, .newest = {}});
  Flag& flag = flags_[place->second];
  const auto position = static_cast<std::uint32_t>(flag.releases.size());
  for (const Acquired& acquired : inherited) {
    std::uint32_t& newest = flag.newest[acquired.flag];
    if (acquired.flag == place->second || acquired.count <= newest) continue;
    newest = acquired.count;
    flag.inherited.emplace_back(position, acquired);
  }
  flag.by_block[release.block].push_back(position);
  flag.releases.push_back(std::move(release));
  has_releases_ = true;
}

Acquired SyncFlags::acquire(std::uintptr_t address) const {
  const std::lock_guard guard(mutex_);
  const auto found = index_.find(address);
  if (found == index_.end()) return {};
  return {found->second, static_cast<std::uint32_t>(flags_[found->second].releases.size())};
}

bool SyncFlags::covers(const FlagClock& clock, std::uint32_t block, std::uint32_t thread, std::uint32_t epoch,
                       std::uintptr_t address) const {
  const std::lock_guard guard(mutex_);
  FlagClock open = clock;  // grows by what the releases inherited
  std::unordered_map<std::uint32_t, std::uint32_t> visited;
  for (std::size_t i = 0; i < open.size(); ++i) {
    const Acquired acquired = open[i];
    const Flag& flag = flags_[acquired.flag];
    if (const auto positions = flag.by_block.find(block); positions != flag.by_block.end())
      for (auto p = positions->second.rbegin(); p != positions->second.rend(); ++p) {
        if (*p >= acquired.count) continue;
        const Release& release = flag.releases[*p];
        if (release.covers(thread, epoch)) return true;
        const bool is_the_flag = address - flag.address < release.bytes;
        if (is_the_flag && release.thread == thread && epoch <= release.epoch) return true;
      }
    for (const auto& [position, inherited] : flag.inherited) {
      if (position >= acquired.count) break;
      std::uint32_t& most = visited[inherited.flag];
      if (inherited.count > most) open.push_back(inherited);
      most = std::max(most, inherited.count);
    }
  }
  return false;
}

void HappensBefore::begin_launch(SyncFlags& flags, unsigned threads, std::uint32_t last_epoch) {
  flags_ = &flags;
  threads_ = threads;
  last_epoch_ = last_epoch;
}

void HappensBefore::begin_block(std::uint32_t block) {
  block_ = block;
  epoch_ = 1;
  barrier_epoch_ = 0;
  if (std::exchange(has_clocks_, false)) std::fill(clocks_.begin(), clocks_.end(), WarpClock{});
  std::fill_n(last_store_.begin(), threads_, 0u);
  if (std::exchange(has_fences_, false)) {
    std::fill(fences_.begin(), fences_.end(), Fence{});
    std::fill(last_release_.begin(), last_release_.end(), std::pair<std::uintptr_t, std::uint32_t>{});
  }
  fenced_threads_.clear();
  fenced_epoch_ = 0;
  fenced_by_thread_ = nullptr;
  has_acquired_ = false;
  acquired_.clear();
  acquired_by_thread_.clear();
}

bool HappensBefore::is_released_to(std::uint32_t thread, std::uint32_t block, std::uint32_t other, std::uint32_t epoch,
                                   std::uintptr_t address) const {
  if (flags_->covers(acquired_, block, other, epoch, address)) return true;
  const auto own = acquired_by_thread_.find(thread);
  return own != acquired_by_thread_.end() && flags_->covers(own->second, block, other, epoch, address);
}

void HappensBefore::block_barrier() {
  barrier_epoch_ = epoch_;
  advance();
  for (const auto& [thread, acquired] : acquired_by_thread_) join(acquired_, acquired);
  acquired_by_thread_.clear();
  if (!fenced_threads_.empty()) merge_fences();
}

void HappensBefore::warp_barrier(std::uint32_t first, std::uint32_t lanes) {
  WarpClock joined{};
  FlagClock acquired;
  const auto each_lane = [&](auto&& visit) {
    for (std::uint32_t rest = lanes; rest != 0; rest &= rest - 1)
      visit(static_cast<std::uint32_t>(std::countr_zero(rest)));
  };
  each_lane([&](std::uint32_t lane) {
    const WarpClock& clock = clocks_[first + lane];
    for (unsigned i = 0; i < kLanesPerWarp; ++i) joined[i] = std::max(joined[i], clock[i]);
    if (const auto own = acquired_by_thread_.find(first + lane); own != acquired_by_thread_.end())
      join(acquired, own->second);
  });
  each_lane([&](std::uint32_t lane) { joined[lane] = epoch_; });
  each_lane([&](std::uint32_t lane) {
    clocks_[first + lane] = joined;
    if (!acquired.empty()) acquired_by_thread_[first + lane] = acquired;
  });
  has_clocks_ = true;
  advance();
}

void HappensBefore::fence(std::uint32_t thread) {
  Fence& fence = fences_[thread];
  fence = {.lanes = clocks_[thread], .block_epoch = barrier_epoch_};
  fence.lanes[thread % kLanesPerWarp] = epoch_;
  if (std::find(fenced_threads_.begin(), fenced_threads_.end(), thread) == fenced_threads_.end())
    fenced_threads_.push_back(thread);
  has_fences_ = true;
  advance();  // the thread's next accesses are not covered
}

void HappensBefore::release(std::uint32_t thread, std::uintptr_t address, unsigned bytes) {
  if (!has_fences_ || last_release_[thread] == std::pair{address, epoch_}) return;
  last_release_[thread] = {address, epoch_};
  Release release{.block = block_,
                  .thread = thread,
                  .epoch = epoch_,
                  .bytes = bytes,
                  .block_epoch = fenced_epoch_,
                  .lanes = {},
                  .by_thread = fenced_by_thread_};
  const std::uint32_t warp = thread / kLanesPerWarp * kLanesPerWarp;
  WarpClock lanes{};
  for (std::uint32_t lane = 0; lane < kLanesPerWarp; ++lane) {
    const Fence& fence = fences_[warp + lane];
    const std::uint32_t at = fence.lanes[lane];
    if (at == 0 || (warp + lane != thread && at > epoch_before(thread, warp + lane))) continue;
    release.block_epoch = std::max(release.block_epoch, fence.block_epoch);
    for (std::uint32_t i = 0; i < kLanesPerWarp; ++i) lanes[i] = std::max(lanes[i], fence.lanes[i]);
  }
  for (std::uint32_t i = 0; i < kLanesPerWarp; ++i)
    if (lanes[i] > release.block_epoch) release.lanes.emplace_back(warp + i, lanes[i]);
  if (release.block_epoch == 0 && release.lanes.empty() && !release.by_thread) return;

  FlagClock inherited = acquired_;
  if (const auto own = acquired_by_thread_.find(thread); own != acquired_by_thread_.end()) join(inherited, own->second);
  flags_->release(address, std::move(release), inherited);
}

/// After a load of a flag has been made: takes over the releases that it may have observed.
void HappensBefore::acquire() {
  const std::uintptr_t address = std::exchange(acquiring_, 0);
  if (!flags_->has_releases()) return;
  const Acquired acquired = flags_->acquire(address);
  if (acquired.count == 0) return;
  join(acquired_by_thread_[acquiring_thread_], acquired);
  has_acquired_ = true;
}

/// At a barrier: merges what the fences before it cover, for any thread that releases after it.
void HappensBefore::merge_fences() {
  std::vector<std::uint32_t> epochs = fenced_by_thread_ ? *fenced_by_thread_ : std::vector<std::uint32_t>(threads_);
  for (const std::uint32_t thread : fenced_threads_) {
    fenced_epoch_ = std::max(fenced_epoch_, fences_[thread].block_epoch);
    const std::uint32_t warp = thread / kLanesPerWarp * kLanesPerWarp;
    for (std::uint32_t t = warp; t < std::min(warp + kLanesPerWarp, threads_); ++t)
      epochs[t] = std::max(epochs[t], fences_[thread].lanes[t - warp]);
  }
  fenced_threads_.clear();
  bool covers_all = true;
  for (std::uint32_t t = 0; t < threads_; ++t) {
    epochs[t] = std::max(epochs[t], fenced_epoch_);
    if (last_store_[t] <= epochs[t]) epochs[t] = barrier_epoch_;  // no store since then
    covers_all &= epochs[t] == barrier_epoch_;
  }
  if (covers_all) fenced_epoch_ = barrier_epoch_;
  fenced_by_thread_ = covers_all ? nullptr : std::make_shared<const std::vector<std::uint32_t>>(std::move(epochs));
}

}  // namespace rung
