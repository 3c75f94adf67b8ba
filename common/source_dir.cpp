#include "common/source_dir.hpp"

namespace rung {

std::filesystem::path source_dir() { return RUNG_SOURCE_DIR; }

}  // namespace rung
