/// Which points are measured now, in a file next to the journal. A kernel can end the process that looks after it, too:
/// a later run learns from the file which points the one before was lost with.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rung {

struct Supervision;

class Begun {
 public:
  /// In the folder of a run.
  explicit Begun(const std::filesystem::path& folder);

  /// Adds the lost points that the file lists to `state`. `counts_last`: points that began and did not end count as
  /// lost once more, unless the machine was rebooted in the meantime.
  void add_to(Supervision& state, bool counts_last) const;

  /// Records that these points begin, and the points lost before. Errors of writing are ignored here: the journal
  /// reports a disk that cannot be written.
  void begin(const std::vector<std::string>& points, const Supervision& state) const;
  void end() const;
  void remove() const;

  /// The file in this folder, by its absolute name: a kernel may change the folder of the process.
  static std::filesystem::path file_in(const std::filesystem::path& folder);
  /// As end(), for signal handlers.
  static void end(const char* file);

 private:
  std::filesystem::path file_;
};

}  // namespace rung
