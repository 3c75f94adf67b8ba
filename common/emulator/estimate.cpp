#include "common/emulator/estimate.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <string>

namespace rung {
namespace {

constexpr double kPatience = 2;  // seconds

bool is_wanted = false;

}  // namespace

void say_long_launches() { is_wanted = true; }

void LaunchEstimate::block_done() {
  const std::size_t done = ++done_;
  if (!is_wanted || is_said_) return;
  const double seconds = std::chrono::duration<double>(Clock::now() - start_).count();
  if (seconds < kPatience || is_said_.exchange(true)) return;
  const double left = seconds / static_cast<double>(done) * static_cast<double>(blocks_ - done);
  if (left < kPatience) return;
  const std::string text =
      fmt::format("{} of {} blocks took {:.0f} s: about {:.0f} s are left\n", done, blocks_, seconds, left);
  std::fputs(text.c_str(), stderr);
}

}  // namespace rung
