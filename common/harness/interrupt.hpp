/// Ctrl-C, `kill` and a closed terminal: a wish while there are results to keep, the end at once otherwise.
#pragma once

#include <signal.h>

namespace rung {

/// From now on SIGINT, SIGTERM and SIGHUP end the program at once with code 130. Signals that it was started to ignore
/// (nohup) stay ignored.
void catch_interrupts();

/// Sets a handler; a signal that the program was started to ignore stays ignored.
void handle_unless_ignored(int signal, void (*handler)(int, siginfo_t*, void*));

/// While one lives, the first of these signals only sets the flag, for a study to end by itself with what it has. A
/// second one, a third of a second later or more, ends the program at once.
class InterruptsWait {
 public:
  InterruptsWait();
  ~InterruptsWait();
  InterruptsWait(const InterruptsWait&) = delete;
  InterruptsWait& operator=(const InterruptsWait&) = delete;
};

bool interrupted();

/// As the first of these signals does where one waits.
void interrupt();

/// Of the monotonic clock. Safe in signal handlers.
long milliseconds();

}  // namespace rung
