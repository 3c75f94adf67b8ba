#include "common/emulator/happens_before.hpp"

#include <bit>
#include <utility>

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

void HappensBefore::begin_launch(SyncFlags& flags, unsigned threads, std::uint32_t last_epoch, unsigned cluster) {
  flags_ = &flags;
  threads_ = threads;
  last_epoch_ = last_epoch;
  cluster_ = cluster;
  width_ = cluster * threads;
}

void HappensBefore::begin_block(std::uint32_t block) {
  block_ = block;
  rank_ = block % cluster_;
  has_wide_ = false;
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

/// From now on, threads have clocks over the whole cluster.
void HappensBefore::widen() {
  if (std::exchange(has_wide_, true)) return;
  seen_.assign(std::size_t{threads_} * width_, 0);
  published_.assign(std::size_t{threads_} * width_, 0);
}

/// Joins to `clock`, of `width_` entries, what happens before the thread's next access, its own accesses included.
void HappensBefore::clock_of(std::uint32_t thread, std::uint32_t* clock) const {
  const std::uint32_t* seen = seen_.data() + place_in(thread, 0, 0);
  for (std::uint32_t i = 0; i < width_; ++i) clock[i] = std::max(clock[i], seen[i]);
  std::uint32_t* own = clock + rank_ * threads_;
  for (std::uint32_t t = 0; t < threads_; ++t) own[t] = std::max(own[t], barrier_epoch_);
  const std::uint32_t warp = thread / kLanesPerWarp * kLanesPerWarp;
  for (std::uint32_t t = warp; t < std::min(warp + kLanesPerWarp, threads_); ++t)
    own[t] = std::max(own[t], clocks_[thread][t - warp]);
  own[thread] = epoch_;
}

void HappensBefore::arrive(std::uint32_t thread, Handed& to) {
  widen();
  to.seen.resize(width_);
  to.published.resize(width_);
  clock_of(thread, to.seen.data());
  const std::uint32_t* published = published_.data() + place_in(thread, 0, 0);
  for (std::uint32_t i = 0; i < width_; ++i) to.published[i] = std::max(to.published[i], published[i]);
  join(to.acquired, acquired_);
  if (const auto own = acquired_by_thread_.find(thread); own != acquired_by_thread_.end())
    join(to.acquired, own->second);
  advance();  // later accesses of the thread are not handed over
}

void HappensBefore::wait(std::uint32_t thread, const Handed& from) {
  if (from.seen.empty()) return;
  widen();
  std::uint32_t* seen = seen_.data() + place_in(thread, 0, 0);
  std::uint32_t* published = published_.data() + place_in(thread, 0, 0);
  for (std::uint32_t i = 0; i < width_; ++i) {
    seen[i] = std::max(seen[i], from.seen[i]);
    published[i] = std::max(published[i], from.published[i]);
  }
  if (!from.acquired.empty()) {
    join(acquired_by_thread_[thread], from.acquired);
    has_acquired_ = true;
  }
}

std::uint32_t HappensBefore::finish(std::uint32_t thread, Handed& to) {
  to.seen.resize(width_);
  to.published.resize(width_);
  to.seen[rank_ * threads_ + thread] = epoch_;
  advance();
  return epoch_ - 1;
}

void HappensBefore::proxy_fence(std::uint32_t thread) {
  widen();
  clock_of(thread, published_.data() + place_in(thread, 0, 0));
  advance();
}

/// Joins what the threads in `lanes`, of `count` from `first` on, have seen and published; each receives all.
void HappensBefore::share_wide(std::uint32_t first, std::uint32_t count, std::uint32_t lanes) {
  std::vector<std::uint32_t> joined(width_);
  for (std::vector<std::uint32_t>* clocks : {&seen_, &published_}) {
    std::fill(joined.begin(), joined.end(), 0);
    const auto each = [&](auto&& visit) {
      for (std::uint32_t t = 0; t < count; ++t)
        if (lanes >> t % kLanesPerWarp & 1) visit(clocks->data() + place_in(first + t, 0, 0));
    };
    each([&](const std::uint32_t* own) {
      for (std::uint32_t i = 0; i < width_; ++i) joined[i] = std::max(joined[i], own[i]);
    });
    each([&](std::uint32_t* own) { std::copy(joined.begin(), joined.end(), own); });
  }
}

void HappensBefore::block_barrier() {
  if (has_wide_) share_wide(0, threads_, ~0u);
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
  if (has_wide_ && first < threads_) share_wide(first, std::min(kLanesPerWarp, threads_ - first), lanes);
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
  if (has_wide_) {
    fence.seen.resize(threads_);
    for (std::uint32_t t = 0; t < threads_; ++t) fence.seen[t] = epoch_before(thread, t);
  }
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
  if (has_wide_) release.by_thread = std::make_shared<const std::vector<std::uint32_t>>(covered_by_fences(thread));
  if (release.block_epoch == 0 && release.lanes.empty() && !release.by_thread) return;

  FlagClock inherited = acquired_;
  if (const auto own = acquired_by_thread_.find(thread); own != acquired_by_thread_.end()) join(inherited, own->second);
  flags_->release(address, std::move(release), inherited);
}

/// For each thread, the epoch up to which fences that happen before the next access of `thread` cover its accesses.
std::vector<std::uint32_t> HappensBefore::covered_by_fences(std::uint32_t thread) const {
  std::vector<std::uint32_t> epochs = fenced_by_thread_ ? *fenced_by_thread_ : std::vector<std::uint32_t>(threads_);
  for (std::uint32_t other = 0; other < threads_; ++other) {
    const Fence& fence = fences_[other];
    const std::uint32_t at = fence.lanes[other % kLanesPerWarp];
    if (at == 0 || (other != thread && at > epoch_before(thread, other))) continue;
    epochs[other] = std::max(epochs[other], at);
    for (std::size_t t = 0; t < fence.seen.size(); ++t) epochs[t] = std::max(epochs[t], fence.seen[t]);
  }
  return epochs;
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
    const std::vector<std::uint32_t>& seen = fences_[thread].seen;
    for (std::size_t t = 0; t < seen.size(); ++t) epochs[t] = std::max(epochs[t], seen[t]);
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
