#include "common/machine/leftovers.hpp"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

namespace rung {
namespace {

constexpr std::size_t kFewDescriptors = 32;  // a library may keep some files open

/// The numbers among a folder's names; false if it cannot be read, as where no descriptor is left to do it.
bool numbers_in(const char* folder, std::set<int>& numbers) {
  DIR* const opened = opendir(folder);
  if (!opened) return false;
  while (const dirent* entry = readdir(opened))
    if (entry->d_name[0] >= '0' && entry->d_name[0] <= '9') numbers.insert(std::atoi(entry->d_name));
  numbers.erase(dirfd(opened));
  closedir(opened);
  return true;
}

/// Those that share this one's memory, too, which no list of its threads has.
std::set<int> processes_begun() {
  std::set<int> tasks, found;
  numbers_in("/proc/self/task", tasks);
  for (const int task : tasks) {
    std::ifstream file("/proc/self/task/" + std::to_string(task) + "/children");
    std::copy(std::istream_iterator<int>(file), {}, std::inserter(found, found.end()));
  }
  return found;
}

/// False if fewer may be open from now on.
bool may_be_open(std::uint64_t most) {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  if (limit.rlim_cur >= most) return true;
  limit.rlim_cur = most;
  return most <= limit.rlim_max && setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

}  // namespace

Leftovers Leftovers::now() {
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  Leftovers all;
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  all.most_open_ = limit.rlim_cur;
  all.are_listed_ = numbers_in("/proc/self/fd", all.descriptors_);
  all.processes_ = processes_begun();
  return all;
}

std::string Leftovers::clear() const {
  if (!are_listed_ || !may_be_open(most_open_)) return "";
  std::set<int> open;
  const bool is_full = !numbers_in("/proc/self/fd", open);
  for (int i = 0; is_full && i < std::min(getdtablesize(), 1 << 20); ++i) open.insert(i);
  std::erase_if(open, [&](int one) { return descriptors_.contains(one); });
  if (is_full || open.size() > kFewDescriptors) {
    for (const int one : open) close(one);
    return is_full ? "left files open up to the limit" : "left " + std::to_string(open.size()) + " files open";
  }
  for (const int process : processes_begun()) {
    if (processes_.contains(process)) continue;
    kill(process, SIGKILL);
    waitpid(process, nullptr, __WALL);
    return "left a process running";
  }
  return "";
}

}  // namespace rung
