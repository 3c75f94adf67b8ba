/// Measuring in a child process, so that a kernel that crashes or hangs costs its own points alone: the others are
/// measured by the next child, into the same folder.
#pragma once

#include <signal.h>

#include <atomic>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "common/harness/begun.hpp"

namespace rung {

/// The child's reports to its parent, in shared memory.
class Watch {
 public:
  std::atomic<int> experiment{0};   ///< index of the one that is measured
  std::atomic<int> failed{0};       ///< points of the experiments before it
  std::atomic<double> seconds{0};   ///< that the points which are measured now may take
  std::atomic<unsigned> turns{0};   ///< odd while points are measured
  std::atomic<int> kept{0};         ///< records that have been written to journals
  std::atomic<int> told{kNothing};  ///< the code that the child ends with, once it is at its end
  char folder[4096] = "";           ///< of the run
  char begun[4096] = "";            ///< the file of Begun in it

  static constexpr int kNothing = -1;

  void begin(const std::vector<std::string>& points, double may_take);
  void end();
  void finish_experiment(int failed_points);
  void set_folder(const std::filesystem::path& path);
  /// The points that are measured now; empty if none are.
  std::vector<std::string> points() const;

 private:
  char points_[1 << 20] = "";
};

/// What a child receives about the children before it.
struct Supervision {
  Watch* watch = nullptr;                     ///< null: this process is not supervised
  bool is_first = true;                       ///< no child was lost before
  bool only_writes = false;                   ///< the previous child was interrupted and killed: measure nothing more
  std::map<std::string, std::string> struck;  ///< points that a child was lost with once, with how
  std::map<std::string, std::string> lost;    ///< points that a child was lost with again: they have failed
  std::map<std::string, std::string> alone;   ///< points of a group that ended a child, to be measured one by one
  std::shared_ptr<const Begun> begun;         ///< where that is kept for a later run; null: nowhere
};

/// Decides about these points after a process was lost while it measured them, for the reason `why`, and prints it. If
/// it was killed from outside, memory may have been short: the points get a second try. Otherwise a group is measured
/// one by one, and a single point that crashed gets a second try, since a thread that another kernel left behind may be
/// the cause.
void strike(const std::vector<std::string>& points, const std::string& why, bool took_too_long, bool is_killed,
            Supervision& state);

/// The exit code of a child that has lost the GPU: another process is to continue.
constexpr int kAnotherProcess = 75;

/// To be called before this process ends with `code`: reports to its supervisor, if there is one, that no kernel ended
/// it. Returns the code. Safe in signal handlers.
int announce_end(int code);

/// Whether this process is a child that measures.
bool is_looked_after();

/// Whether a kernel sent this signal, to its own process or to the supervisor. Safe in signal handlers.
bool is_sent_by_kernel(const siginfo_t& signal);
/// Records that a loss of this process is no fault of the points that are measured. Safe in signal handlers.
void end_begun();

/// Returns in a child process that is to measure, again after each child that ended without announce_end(): by a
/// signal, by an exit, or because it took longer than Watch::seconds. The points that were measured then are measured
/// once more; if a child is lost with them again, or if they took too long, they have failed. In the process that
/// called it, does not return, but ends with the code of the last child, or with 1 where several are lost in a row that
/// have measured nothing.
///
/// Passes SIGINT, SIGTERM and SIGHUP on. A child that does not end within seconds is killed, and another one writes
/// what is done; a second signal ends all at once. Call it before there are threads. Where no process can be started,
/// returns in this one, without a watch.
Supervision supervise();

}  // namespace rung
