#include "common/harness/supervisor.hpp"

#include <fcntl.h>
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
#include <fstream>
#include <new>

#include "common/harness/interrupt.hpp"
#include "common/harness/say.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

constexpr int kInterrupted = 130;
constexpr int kFailed = 1;
constexpr int kGrace = 5;     // seconds that a child has to end in
constexpr long kApart = 300;  // milliseconds between two signals that are not one

volatile std::sig_atomic_t child = 0, passed_on = 0;
volatile long passed_at = 0;

Watch* own_watch = nullptr;    // of this process, if it is a child
Watch* known_watch = nullptr;  // likewise, or if it looks after one
pid_t supervisor = 0;          // its process, once there is one

/// The parent of a process; 0 if it is not known.
pid_t parent_of(pid_t process) {
  char name[32] = "/proc/", digits[16], text[512];
  int count = 0;
  for (pid_t rest = process; rest > 0; rest /= 10) digits[count++] = static_cast<char>('0' + rest % 10);
  char* end = name + std::strlen(name);
  while (count > 0) *end++ = digits[--count];
  std::memcpy(end, "/stat", sizeof "/stat");
  const int descriptor = open(name, O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return 0;
  const ssize_t got = read(descriptor, text, sizeof text - 1);
  close(descriptor);
  text[std::max<ssize_t>(got, 0)] = 0;
  const char* const after = std::strrchr(text, ')');  // "4711 (name) S 4710 …"
  if (!after || std::strlen(after) < 5) return 0;
  pid_t parent = 0;
  for (const char* c = after + 4; *c >= '0' && *c <= '9'; ++c) parent = 10 * parent + (*c - '0');
  return parent;
}

void pass_on(int signal, siginfo_t* info, void*) {
  if (is_sent_by_kernel(*info)) return;
  end_begun();
  const long now = milliseconds();
  if (passed_on && now - passed_at > kApart) {
    if (child > 0) kill(child, SIGKILL);
    _exit(kInterrupted);
  }
  if (!passed_on) passed_at = now;
  passed_on = 1;
  if (child > 0) kill(child, signal);
}

/// Those that the program was started to ignore (nohup) stay ignored, here and in the child.
void pass_signals_on() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) handle_unless_ignored(signal, pass_on);
}

sigset_t signals(std::initializer_list<int> which) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : which) sigaddset(&set, signal);
  return set;
}

[[noreturn]] void end(int code) {
  std::fflush(nullptr);
  _exit(code);
}

struct Ended {
  int status = 0;
  bool took_too_long = false;
};

/// Waits for the child. Kills it when it measures one group for longer than it may, or is still there kGrace after it
/// announced its end or was to end. A child that cannot be killed, for instance because a driver hangs, is left alone.
/// Time counts in whole seconds that this process was awake for, so that a suspended machine or terminal loses nothing.
Ended wait_for(pid_t process, const Watch& watch) {
  const sigset_t ended = signals({SIGCHLD});
  Ended result;
  unsigned turn = 0;
  int seconds = 0, at_its_end = 0;
  for (;;) {
    if (waitpid(process, &result.status, WNOHANG) == process) return result;
    const timespec second{1, 0};
    if (sigtimedwait(&ended, nullptr, &second) >= 0 || errno != EAGAIN) continue;
    const unsigned now = watch.turns;
    seconds = now == turn ? seconds + 1 : 0;
    turn = now;
    if (passed_on || watch.told != Watch::kNothing) ++at_its_end;
    const bool is_late = turn % 2 == 1 && seconds > watch.seconds;
    result.took_too_long = result.took_too_long || (is_late && at_its_end == 0);
    if (is_late || at_its_end >= kGrace) kill(process, SIGKILL);
    if (at_its_end >= 2 * kGrace) end(watch.told != Watch::kNothing ? watch.told.load() : kInterrupted);
  }
}

/// The processes that have this one as their parent.
std::vector<pid_t> children() {
  const std::string self = std::to_string(getpid());
  std::ifstream list("/proc/" + self + "/task/" + self + "/children");
  std::vector<pid_t> found;
  for (pid_t one; list >> one;) found.push_back(one);
  return found;
}

/// Ends the processes that a kernel started and left: they would measure further, and hold the journal's lock.
void end_leftovers() {
  constexpr int kTries = 100;
  std::vector<pid_t> left;
  for (int i = 0; i < kTries && !(left = children()).empty(); ++i) {
    for (const pid_t one : left) kill(one, SIGKILL);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
    if (!children().empty()) usleep(10'000);
  }
}

std::string how(const Ended& ended, double may_take) {
  if (ended.took_too_long) return fmt::format("took longer than {:.0f} s and was ended", may_take);
  if (WIFEXITED(ended.status)) return fmt::format("ended the process with code {}", WEXITSTATUS(ended.status));
  const int signal = WTERMSIG(ended.status);
  if (signal == SIGKILL) return "its process was killed (memory was short?)";
  return fmt::format("ended the process: {}", strsignal(signal));
}

/// A child that was lost before it kept anything more than the one before: as often as kMost in a row, the rest is for
/// a later run.
class Idle {
 public:
  void count(int kept, bool is_killed, const std::string& why) {
    times_ = kept == kept_ ? times_ + 1 : 1;
    kept_ = kept;
    if (times_ < (is_killed ? kMostKilled : kMostEnded)) return;
    std::fflush(stdout);
    const std::string text = fmt::format(
        "rung: {} processes in a row have measured nothing, the last one {}; what was measured is kept: the same "
        "command with --resume does the rest\n",
        times_, why);
    std::fputs(text.c_str(), stderr);
    end(kFailed);
  }

 private:
  static constexpr int kMostKilled = 10, kMostEnded = 3;  // a kill may come from outside, at any time
  int times_ = 0, kept_ = 0;
};

/// Sets down which points the child was lost with. Ends the program where nothing is left to do.
void learn_from(const Ended& ended, Watch& watch, Supervision& state, Idle& idle) {
  const std::vector<std::string> points = watch.points();
  const int told = watch.told.exchange(Watch::kNothing);
  const bool is_killed = !ended.took_too_long && WIFSIGNALED(ended.status) && WTERMSIG(ended.status) == SIGKILL;
  if (told == kAnotherProcess) return idle.count(watch.kept, false, "lost the GPU");
  if (told != Watch::kNothing && (points.empty() || told == kInterrupted)) end(told);
  if (passed_on) {
    if (state.only_writes || !watch.folder[0]) end(kInterrupted);
    state.only_writes = true;
  } else if (points.empty()) {
    const std::string why = how(ended, watch.seconds);
    idle.count(watch.kept, is_killed, why);
    say("between two points: {}; continuing in another process\n", why);
  } else {
    strike(points, how(ended, watch.seconds), ended.took_too_long, is_killed, state);
  }
}

/// Tries for some seconds; -1 if there is none to be had.
pid_t start_process() {
  constexpr int kTries = 8;
  for (int i = 0;; ++i) {
    const pid_t process = fork();
    if (process >= 0 || i == kTries) return process;
    usleep(10'000u << i);
  }
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
  folder[0] = begun[0] = 0;
  ++experiment;
}

void Watch::set_folder(const std::filesystem::path& path) {
  std::snprintf(folder, sizeof folder, "%s", path.c_str());
  std::snprintf(begun, sizeof begun, "%s", Begun::file_in(path).c_str());
}

std::vector<std::string> Watch::points() const {
  std::vector<std::string> found;
  if (turns % 2 == 0) return found;
  const std::string lines = points_;
  for (std::size_t begin = 0, end; (end = lines.find('\n', begin)) != std::string::npos; begin = end + 1)
    found.push_back(lines.substr(begin, end - begin));
  return found;
}

void strike(const std::vector<std::string>& points, const std::string& why, bool took_too_long, bool is_killed,
            Supervision& state) {
  const std::string& first = points.front();
  const bool is_group = points.size() > 1, was_struck = state.struck.contains(first);
  const bool again = !was_struck && (is_killed || (!is_group && !took_too_long && !state.alone.contains(first)));
  const std::string others = is_group ? fmt::format(" and {} others", points.size() - 1) : "";
  say("{}{}: {}; {} in another process\n", first, others, why, again ? "once more" : "continuing");
  auto& where = again ? state.struck : is_group ? state.alone : state.lost;
  for (const std::string& point : points) where[point] = why;
}

int announce_end(int code) {
  if (own_watch) own_watch->told = code;
  return code;
}

bool is_looked_after() { return own_watch != nullptr; }

/// All descendants of the supervisor except the measuring child were started by kernels.
bool is_sent_by_kernel(const siginfo_t& signal) {
  if (supervisor == 0 || signal.si_code > 0 || signal.si_pid == 0 || signal.si_pid == supervisor) return false;
  constexpr int kMost = 64;
  pid_t process = signal.si_pid;
  for (int i = 0; i < kMost && process > 1; ++i)
    if ((process = parent_of(process)) == supervisor) return true;
  return false;
}

void end_begun() {
  if (known_watch) Begun::end(known_watch->begun);
}

Supervision supervise() {
  void* const shared = mmap(nullptr, sizeof(Watch), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw Error("no memory to share with a child process");
  Supervision state{.watch = new (shared) Watch};
  Idle idle;
  const pid_t parent = supervisor = getpid();
  known_watch = state.watch;
  const bool ends_leftovers = children().empty() && prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
  const sigset_t blocked = signals({SIGCHLD, SIGINT, SIGTERM, SIGHUP}), ended = signals({SIGCHLD});
  sigset_t before;
  pthread_sigmask(SIG_BLOCK, &blocked, &before);
  std::signal(SIGPIPE, SIG_IGN);  // output is no longer read: no reason to stop, here or in the child
  for (;;) {
    std::fflush(nullptr);
    const pid_t process = start_process();
    if (process < 0 && !state.is_first) {
      std::fprintf(stderr, "rung: cannot start another process: %s; the same command with --resume does the rest\n",
                   std::strerror(errno));
      end(kFailed);
    }
    if (process < 0) {
      say("cannot start a process ({}): measuring in this one, which a kernel that crashes ends\n",
          std::strerror(errno));
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      supervisor = 0;
      known_watch = nullptr;
      return {};
    }
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(kInterrupted);
      own_watch = state.watch;
      catch_interrupts();
      if (state.only_writes) interrupt();
      pthread_sigmask(SIG_SETMASK, &before, nullptr);
      omp_get_max_threads();  // clang's OpenMP must start again here, or its end looks for the parent's threads
      return state;
    }
    child = process;
    pass_signals_on();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_sigmask(SIG_BLOCK, &ended, nullptr);
    const Ended how_it_ended = wait_for(process, *state.watch);
    pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
    child = 0;
    if (ends_leftovers) end_leftovers();
    learn_from(how_it_ended, *state.watch, state, idle);
    state.is_first = false;
    state.watch->turns = 0;
  }
}

}  // namespace rung
