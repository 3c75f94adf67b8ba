/// The messages of a run while it measures. If they cannot be written (a closed terminal, a full disk), results must
/// not be lost, so that is no error here.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>
#include <utility>

namespace rung {

template <typename... Parts>
void say(fmt::format_string<Parts...> format, Parts&&... parts) {
  const std::string text = fmt::format(format, std::forward<Parts>(parts)...);
  std::fwrite(text.data(), 1, text.size(), stdout);
}

}  // namespace rung
