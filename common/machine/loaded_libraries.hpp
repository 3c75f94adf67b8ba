/// Which versions of its shared libraries this program runs with.
#pragma once

#include <map>
#include <string>

namespace rung {

/// Of each library that was loaded when this was called first, by its file's name: its build ID, bytes and the second
/// of its last change. Main calls it before any library loads another one, so that it is the same in each run.
const std::map<std::string, std::string>& loaded_libraries();

}  // namespace rung
