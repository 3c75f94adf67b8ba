#include "common/harness/interrupt.hpp"

#include <unistd.h>

#include <csignal>
#include <ctime>
#include <initializer_list>

#include "common/harness/supervisor.hpp"

namespace rung {
namespace {

constexpr int kInterrupted = 130;

constexpr long kMillisecondsOfOne = 300;  // a terminal signals every process, and one that measures passes it on

volatile std::sig_atomic_t asked = 0, waiting = 0;
volatile long asked_at = 0;

void end_or_remember(int) {
  const long now = milliseconds();
  if (!waiting || (asked && now - asked_at > kMillisecondsOfOne)) _exit(announce_end(kInterrupted));
  if (!asked) asked_at = now;
  asked = 1;
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, end_or_remember) == SIG_IGN) std::signal(signal, SIG_IGN);
}

InterruptsWait::InterruptsWait() { waiting = 1; }
InterruptsWait::~InterruptsWait() { waiting = 0; }

bool interrupted() { return asked != 0; }

void interrupt() {
  asked_at = milliseconds();
  asked = 1;
}

long milliseconds() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

}  // namespace rung
