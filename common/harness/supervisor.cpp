#include "common/harness/supervisor.hpp"

#include <omp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <new>

#include "common/harness/interrupt.hpp"
#include "common/harness/say.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

constexpr int kInterrupted = 130;
constexpr int kFailed = 1;

volatile std::sig_atomic_t child = 0, passed_on = 0;

void pass_on(int signal) {
  passed_on = 1;
  if (child > 0) kill(child, signal);
}

/// Those that the program was started to ignore (nohup) stay ignored, here and in the child.
void pass_signals_on() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction action {};
    sigaction(signal, nullptr, &action);
    if (action.sa_handler == SIG_IGN) continue;
    action.sa_handler = pass_on;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

sigset_t signals(std::initializer_list<int> which) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : which) sigaddset(&set, signal);
  return set;
}

struct Ended {
  int status = 0;
  bool took_too_long = false;
};

/// Waits for the child; kills it when it measures one group for longer than it may. Time counts in whole seconds that
/// this process was awake for, so that a suspended machine or terminal loses nothing.
Ended wait_for(pid_t process, const Watch& watch) {
  const sigset_t ended = signals({SIGCHLD});
  Ended result;
  unsigned turn = 0;
  int seconds = 0;
  for (;;) {
    if (waitpid(process, &result.status, WNOHANG) == process) return result;
    const timespec second{1, 0};
    if (sigtimedwait(&ended, nullptr, &second) >= 0 || errno != EAGAIN) continue;
    const unsigned now = watch.turns;
    seconds = now == turn ? seconds + 1 : 0;
    turn = now;
    if (turn % 2 == 0 || seconds <= watch.seconds) continue;
    result.took_too_long = true;
    kill(process, SIGKILL);
  }
}

std::string how(const Ended& ended, double may_take) {
  if (ended.took_too_long) return fmt::format("took longer than {:.0f} s and was ended", may_take);
  if (WIFEXITED(ended.status)) return fmt::format("ended the process with code {}", WEXITSTATUS(ended.status));
  const int signal = WTERMSIG(ended.status);
  if (signal == SIGKILL) return "its process was killed (memory was short?)";
  return fmt::format("ended the process: {}", strsignal(signal));
}

[[noreturn]] void end(int code) {
  std::fflush(nullptr);
  _exit(code);
}

/// Sets down which points the child was lost with. Ends the program where there is nothing to go on with.
void learn_from(const Ended& ended, Watch& watch, Supervision& state) {
  const std::vector<std::string> points = watch.points();
  const bool exited = WIFEXITED(ended.status);
  const int code = exited ? WEXITSTATUS(ended.status) : 0;
  if (passed_on && !exited) end(kInterrupted);
  if (exited && code == kAnotherProcess) return;
  if (exited && (points.empty() || code == kInterrupted)) end(code);
  const std::string why = how(ended, watch.seconds);
  if (points.empty()) {
    std::fflush(stdout);
    std::fputs(("rung: between two points: " + why + "\n").c_str(), stderr);
    end(kFailed);
  }
  const std::string others = points.size() > 1 ? fmt::format(" and {} others", points.size() - 1) : "";
  say("{}{}: {}; going on in another process\n", points.front(), others, why);
  for (const std::string& point : points) (points.size() > 1 ? state.alone : state.lost)[point] = why;
}

}  // namespace

void Watch::begin(const std::vector<std::string>& points, double may_take) {
  std::string lines;
  for (const std::string& point : points) lines += point + "\n";
  lines.resize(std::min(lines.size(), sizeof points_ - 1));
  std::memcpy(points_, lines.c_str(), lines.size() + 1);
  seconds = may_take;
  ++turns;
}

void Watch::end() { ++turns; }

void Watch::finish_experiment(int failed_points) {
  failed = failed_points;
  folder[0] = 0;
  ++experiment;
}

void Watch::set_folder(const std::filesystem::path& path) { std::snprintf(folder, sizeof folder, "%s", path.c_str()); }

std::vector<std::string> Watch::points() const {
  std::vector<std::string> found;
  if (turns % 2 == 0) return found;
  const std::string lines = points_;
  for (std::size_t begin = 0, end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    found.push_back(lines.substr(begin, end - begin));
  return found;
}

Supervision supervise() {
  void* const shared = mmap(nullptr, sizeof(Watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Error("no memory to share with a child process");
  Supervision state{.watch = new (shared) Watch};
  const pid_t parent = getpid();
  const sigset_t blocked = signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP}), ended = signals({SIGCHLD});
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  for (;;) {
    std::fflush(nullptr);
    const pid_t process = fork();
    if (process < 0) throw Error(std::string("cannot start a process: ") + std::strerror(errno));
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::signal(SIGPIPE, SIG_IGN);  // nobody reads any more what is said: no reason to stop
      if (getppid() != parent) _exit(kInterrupted);
      catch_interrupts();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      omp_get_max_threads();  // clang's OpenMP must begin anew here, or it ends by looking for what the parent began
      return state;
    }
    child = process;
    pass_signals_on();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_sigmask(SIG_BLOCK, &ended, nullptr);
    const Ended how_it_ended = wait_for(process, *state.watch);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    child = 0;
    learn_from(how_it_ended, *state.watch, state);
    state.is_first = false;
    state.watch->turns = 0;
  }
}

}  // namespace rung
