/// Where the project's files are: the experiments, their sources, the recorded results.
#pragma once

#include <filesystem>

namespace rung {

/// The folder that the program was built from, which may have been moved since.
std::filesystem::path built_from();

/// The folder that has them: `built`, or one around `program`; where neither has them, `built`.
std::filesystem::path find_sources(const std::filesystem::path& built, const std::filesystem::path& program);

/// That of this program. It is looked for once.
std::filesystem::path source_dir();

/// A file or folder in it. Throws Error, with the places that were searched, if it is not there.
std::filesystem::path project_file(const std::filesystem::path& relative);

}  // namespace rung
