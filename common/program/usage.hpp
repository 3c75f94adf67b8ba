/// What was wrong with a command line, and what was probably meant.
#pragma once

#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace rung {

/// One sentence on a command line that `app` refused with `error`: the word that it does not know and the nearest that
/// it does, or the value that an option cannot take.
std::string usage_error(const CLI::App& app, const CLI::ParseError& error);

}  // namespace rung
