#include "common/machine/disturbance.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "common/machine/cpu_info.hpp"

namespace rung {
namespace {

constexpr double kShare = 0.01;
/// A thread that is woken begins this much later though its processor is idle, in nanoseconds: no wait for another one.
constexpr double kWakes = 20e3;
constexpr double kRan = 0.1;     // of the busiest thread's time
constexpr double kOthers = 0.1;  // processors

/// The beginning of a file; empty if it cannot be read. Streams would take several times as long.
std::string text_of(const std::string& path) {
  char text[512];
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return "";
  const ssize_t length = read(file, text, sizeof text);
  close(file);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : "";
}

double seconds_of(const timeval& time) { return double(time.tv_sec) + double(time.tv_usec) * 1e-6; }

double tick() {
  static const double seconds = 1.0 / double(std::max(1L, sysconf(_SC_CLK_TCK)));
  return seconds;
}

}  // namespace

bool Disturbance::is_one() const {
  const bool is_crowded = processors > 0 && threads.value_or(0) > processors;
  const bool has_waited = waited ? *waited > kShare * seconds : switches.value_or(0) > 0;
  if (has_waited && !(is_crowded && others && *others < kOthers)) return true;
  return stolen.value_or(0) > kShare * seconds || device_others.value_or(0) > kShare;
}

Look Look::now(const std::filesystem::path& proc) {
  Look look;
  const std::string tasks = (proc / "self/task").string();
  if (DIR* folder = opendir(tasks.c_str())) {
    while (const dirent* entry = readdir(folder)) {
      Thread thread;
      const std::string text = text_of(tasks + "/" + entry->d_name + "/schedstat");
      if (std::sscanf(text.c_str(), "%lf %lf %lf", &thread.ran, &thread.waited, &thread.starts) == 3)
        look.threads_[std::atoi(entry->d_name)] = thread;
    }
    closedir(folder);
  }
  double user = 0, nice = 0, system = 0, idle = 0, io = 0, irq = 0, soft = 0, steal = 0;
  if (std::sscanf(text_of((proc / "stat").string()).c_str(), "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice,
                  &system, &idle, &io, &irq, &soft, &steal) == 8) {
    look.busy_ = (user + nice + system) * tick();
    look.steal_ = steal * tick();
  }
  rusage own{};
  getrusage(RUSAGE_SELF, &own);
  look.own_ = seconds_of(own.ru_utime) + seconds_of(own.ru_stime);
  look.switches_ = own.ru_nivcsw;
  look.at_ = std::chrono::steady_clock::now();
  return look;
}

Disturbance Look::since(const Look& before) const {
  Disturbance found;
  found.seconds = std::chrono::duration<double>(at_ - before.at_).count();
  found.switches = switches_ - before.switches_;
  found.processors = usable_processors();
  if (busy_ && before.busy_ && found.seconds > 0)
    found.others = std::max(0.0, (*busy_ - *before.busy_ - (own_ - before.own_)) / found.seconds);
  if (steal_ && before.steal_)  // counted in whole ticks: one of them may have been nearly full before
    found.stolen = std::max(0.0, *steal_ - *before.steal_ - tick());
  if (threads_.empty()) return found;
  double longest = 0, busiest = 0;
  std::map<int, double> ran;
  for (const auto& [number, thread] : threads_) {
    const auto earlier = before.threads_.find(number);
    const Thread none, &was = earlier == before.threads_.end() ? none : earlier->second;
    ran[number] = thread.ran - was.ran;
    busiest = std::max(busiest, ran[number]);
    longest = std::max(longest, thread.waited - was.waited - kWakes * (thread.starts - was.starts));
  }
  found.waited = longest * 1e-9;
  found.threads = static_cast<int>(std::count_if(
      ran.begin(), ran.end(), [&](const auto& one) { return one.second > 0 && one.second >= kRan * busiest; }));
  return found;
}

}  // namespace rung
