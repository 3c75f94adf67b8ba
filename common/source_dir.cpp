#include "common/source_dir.hpp"

#include <system_error>

#include "common/registry.hpp"

namespace rung {

using std::filesystem::path;

path built_from() { return RUNG_SOURCE_DIR; }

path find_sources(const path& built, const path& program) {
  std::error_code none;
  const auto has_sources = [&](const path& folder) { return exists(folder / "experiments" / "sources.toml", none); };
  if (has_sources(built)) return built;
  for (path folder = program.parent_path(); folder.has_relative_path(); folder = folder.parent_path())
    if (has_sources(folder)) return folder;
  return built;
}

path source_dir() {
  std::error_code none;
  static const path found = find_sources(built_from(), std::filesystem::read_symlink("/proc/self/exe", none));
  return found;
}

path project_file(const path& relative) {
  const path file = source_dir() / relative;
  std::error_code none;
  if (!exists(file, none))
    throw Error(relative.string() + " is neither in " + built_from().string() +
                ", where this program was built, nor around the program: keep it in its tree, or build it again");
  return file;
}

}  // namespace rung
