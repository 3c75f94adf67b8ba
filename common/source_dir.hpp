/// Where the project's files are: the experiments, their sources, the recorded results.
#pragma once

#include <filesystem>

namespace rung {

/// The folder that the program was built from.
std::filesystem::path source_dir();

}  // namespace rung
