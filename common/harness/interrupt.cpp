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

void end_or_remember(int signal, siginfo_t* info, void*) {
  if (is_sent_by_kernel(*info)) {  // it ends this process as any other fault of a kernel
    std::signal(signal, SIG_DFL);
    std::raise(signal);
    return;
  }
  end_begun();  // what ends this process from now on is no fault of the points that are measured
  const long now = milliseconds();
  if (!waiting || (asked && now - asked_at > kMillisecondsOfOne)) _exit(announce_end(kInterrupted));
  if (!asked) asked_at = now;
  asked = 1;
}

}  // namespace

void catch_interrupts() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle_unless_ignored(signal, end_or_remember);
}

InterruptsWait::InterruptsWait() { waiting = 1; }
InterruptsWait::~InterruptsWait() { waiting = 0; }

void handle_unless_ignored(int signal, void (*handler)(int, siginfo_t*, void*)) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  if (!(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_IGN) return;
  action.sa_sigaction = handler;
  action.sa_flags = SA_RESTART | SA_SIGINFO;
  sigaction(signal, &action, nullptr);
}

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
