/// Measuring in a child process, so that a kernel that crashes or hangs costs its own points alone: the others are
/// measured by the next child, into the same folder.
#pragma once

#include <atomic>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace rung {

/// What the child tells its parent, in memory of both.
class Watch {
 public:
  std::atomic<int> experiment{0};  ///< index of the one that is measured
  std::atomic<int> failed{0};      ///< points of the experiments before it
  std::atomic<double> seconds{0};  ///< that the points which are measured now may take
  std::atomic<unsigned> turns{0};  ///< odd while points are measured
  char folder[4096] = "";          ///< of the run

  void begin(const std::vector<std::string>& points, double may_take);
  void end();
  void finish_experiment(int failed_points);
  void set_folder(const std::filesystem::path& path);
  /// Of those that are measured now; nothing if none are.
  std::vector<std::string> points() const;

 private:
  char points_[1 << 20] = "";
};

/// What a child has to know of those before it.
struct Supervision {
  Watch* watch = nullptr;                    ///< null: nobody looks after this process
  bool is_first = true;                      ///< no child was lost before
  std::map<std::string, std::string> lost;   ///< points that ended a child, with how
  std::map<std::string, std::string> alone;  ///< points of a group that did, to be measured one by one
};

/// How a child ends that has lost the GPU and wants another process to go on.
constexpr int kAnotherProcess = 75;

/// Returns in a child process that is to measure, again after each child that was lost: by a signal, by an exit in the
/// midst of a point, or because it took longer than Watch::seconds. In the process that called it, does not return, but
/// ends with the code of the last child. Passes SIGINT, SIGTERM and SIGHUP on. Call it before there are threads.
Supervision supervise();

}  // namespace rung
