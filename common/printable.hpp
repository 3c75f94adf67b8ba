/// Words of users on a terminal: a title, a file's name or a key may hold what moves the cursor or rewrites the screen.
#pragma once

#include <string>

namespace rung {

/// The text on one line: blanks for line breaks and tabs, '?' for other control characters, also U+0080 to U+009F.
inline std::string printable(const std::string& text) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto at = [&](std::size_t place) {
      return static_cast<unsigned char>(place < text.size() ? text[place] : 0);
    };
    if (at(i) == 0xC2 && at(i + 1) >= 0x80 && at(i + 1) < 0xA0) {
      shown += '?';
      ++i;
    } else if (text[i] == '\n' || text[i] == '\t') {
      shown += ' ';
    } else {
      shown += at(i) < 0x20 || at(i) == 0x7F ? '?' : text[i];
    }
  }
  return shown;
}

/// The word as a shell takes it: in quotes where it has more than letters, digits and a few signs.
inline std::string shell_word(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string inside;
  for (const char c : word) inside += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return "'" + inside + "'";
}

}  // namespace rung
