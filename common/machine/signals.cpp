#include "common/machine/signals.hpp"

#include <fmt/core.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>

namespace rung {
namespace {

constexpr const char* kTimer = "set a timer, which would take time from other kernels";

bool runs(const itimerval& timer) { return timer.it_value.tv_sec != 0 || timer.it_value.tv_usec != 0; }

}  // namespace

Signals Signals::now() {
  Signals all;
  for (int timer = 0; timer < 3; ++timer) getitimer(static_cast<__itimer_which_t>(timer), &all.timers_[timer]);
  for (int number = 1; number < 65; ++number) sigaction(number, nullptr, &all.handlers_[number]);
  std::ifstream file("/proc/self/timers");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("ID:")) all.made_.insert(std::atoi(line.c_str() + 3));
  return all;
}

std::string Signals::restore() const {
  const Signals is = now();
  std::string what;
  for (int timer = 0; timer < 3; ++timer) {
    if (runs(is.timers_[timer]) == runs(timers_[timer])) continue;
    setitimer(static_cast<__itimer_which_t>(timer), &timers_[timer], nullptr);
    what = kTimer;
  }
  for (const int timer : is.made_) {
    if (made_.contains(timer)) continue;
    syscall(SYS_timer_delete, timer);
    what = kTimer;
  }
  for (int number = 1; number < 65; ++number) {
    if (is.handlers_[number].sa_handler == handlers_[number].sa_handler) continue;
    sigaction(number, &handlers_[number], nullptr);
    if (what.empty()) what = fmt::format("changed the handler of signal {}", number);
  }
  return what;
}

}  // namespace rung
