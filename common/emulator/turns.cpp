#include "common/emulator/turns.hpp"

#include <algorithm>
#include <utility>

namespace rung {
namespace {

thread_local int asked_for = 0;
thread_local unsigned cluster = 1;

}  // namespace

inline namespace emulated {

Together::Together(unsigned blocks_of_cluster) : outer_(std::exchange(cluster, blocks_of_cluster)) { ++asked_for; }
Together::~Together() {
  cluster = outer_;
  --asked_for;
}
bool Together::is_asked_for() { return asked_for > 0; }
unsigned Together::blocks_of_cluster() { return cluster; }

}  // namespace emulated

bool Turns::await(std::size_t rank) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return has_failed_ || now_ == rank; });
  return !has_failed_;
}

bool Turns::pass(std::size_t rank, bool has_moved) {
  {
    const std::scoped_lock lock(mutex_);
    idle_ = has_moved ? 0 : idle_ + 1;
    advance();
  }
  return await(rank);
}

bool Turns::is_stuck() {
  const std::scoped_lock lock(mutex_);
  return idle_ > 2 * has_ended_.size();
}

void Turns::leave(std::size_t rank) {
  const std::scoped_lock lock(mutex_);
  idle_ = 0;
  has_ended_[rank] = true;
  advance();
}

void Turns::fail() {
  const std::scoped_lock lock(mutex_);
  has_failed_ = true;
  changed_.notify_all();
}

void Turns::advance() {
  if (std::find(has_ended_.begin(), has_ended_.end(), false) == has_ended_.end()) return;
  do now_ = (now_ + 1) % has_ended_.size();
  while (has_ended_[now_]);
  changed_.notify_all();
}

}  // namespace rung
