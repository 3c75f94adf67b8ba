/// What a run says while it measures. Nobody may be reading any more, a terminal that was closed or a full disk: that
/// must not cost what was measured, so it is no error here.
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
