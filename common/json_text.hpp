/// JSON as text, with any bytes in it: file names, arguments and host names need not be UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace rung {

/// Bytes that are no UTF-8 become U+FFFD, where dump() alone throws. `indent` -1: on one line.
template <typename Json>
std::string json_text(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace rung
