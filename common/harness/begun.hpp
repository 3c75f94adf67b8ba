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

  /// Adds what the file has of points that were lost to `state`. `counts_last`: if points had begun and not ended, they
  /// were lost as well, once more; not where the machine has been started since.
  void add_to(Supervision& state, bool counts_last) const;

  /// Sets down that these points begin, and what is known of those lost before. Where that cannot be written, nothing
  /// is: the journal says what is wrong with the disk.
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
