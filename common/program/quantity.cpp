#include "common/program/quantity.hpp"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr double kMost = 1e15;  // below it every whole number is exact, and every product of the models fits

struct Amount {
  double value;
  std::string unit;  ///< what follows the number, without blanks, in lower case
};

std::optional<Amount> parse(std::string_view text) {
  Amount amount{};
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), amount.value);
  if (error != std::errc() || !std::isfinite(amount.value)) return std::nullopt;
  for (const char* c = rest; c != text.data() + text.size(); ++c)
    if (*c != ' ') amount.unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  return amount;
}

std::optional<double> bytes_of(std::string_view unit) {
  if (unit.empty() || unit == "b") return 1;
  const std::string_view end = unit.substr(1);
  if (!end.empty() && end != "b" && end != "ib") return std::nullopt;
  switch (unit.front()) {
    case 'k':
      return 1024;
    case 'm':
      return 1024 * 1024;
    case 'g':
      return 1024 * 1024 * 1024;
    default:
      return std::nullopt;
  }
}

/// "'4Kio' has the unknown unit 'kio'; did you mean 'KiB'?; the units are B, KiB …"
std::string unknown_unit(const std::string& text, const Amount& amount, const std::vector<std::string>& units) {
  std::vector<std::string> low = units;
  for (std::string& unit : low)
    for (char& c : unit) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const std::string near = nearest(amount.unit, low);
  std::string meant, all;
  for (std::size_t i = 0; i < units.size(); ++i) {
    if (low[i] == near) meant = "; did you mean '" + units[i] + "'?";
    all += (i ? ", " : "") + units[i];
  }
  return "'" + text + "' has the unknown unit '" + amount.unit + "'" + meant + "; the units are " + all;
}

}  // namespace

std::int64_t parse_bytes(const std::string& text) {
  const auto amount = parse(text);
  const auto unit = amount ? bytes_of(amount->unit) : std::nullopt;
  if (amount && !unit) throw Error(unknown_unit(text, *amount, {"B", "KiB", "MiB", "GiB"}));
  const double bytes = unit ? amount->value * *unit : -1;
  if (!(bytes >= 0 && bytes <= kMost) || bytes != std::floor(bytes))
    throw Error("'" + text + "' is not an amount of memory: give whole bytes, as 32768, 32KiB or 32KB (of 1024 B)");
  return static_cast<std::int64_t>(bytes);
}

std::array<std::int64_t, 3> parse_threads(const std::string& text) {
  std::array<std::int64_t, 3> block{1, 1, 1};
  std::int64_t product = 1;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (std::int64_t& side : block) {
    const auto [rest, error] = std::from_chars(at, end, side);
    if (error != std::errc() || side < 1 || side > kMost / static_cast<double>(product)) break;
    product *= side;
    if (rest == end) return block;
    if (*rest != 'x') break;
    at = rest + 1;
  }
  throw Error("'" + text + "' is not a block of threads: give 256, 16x16 or 8x8x4");
}

double parse_ratio(const std::string& text) {
  const auto amount = parse(text);
  const bool known = amount && (amount->unit.empty() || amount->unit == "op/b" || amount->unit == "flop/b");
  if (amount && !known) throw Error(unknown_unit(text, *amount, {"OP/B", "FLOP/B"}));
  if (!known || amount->value < 0)
    throw Error("'" + text + "' is not a ratio: give operations per byte, as 0.25 or 0.25OP/B");
  return amount->value;
}

std::string bytes_text(std::int64_t bytes) {
  return bytes > 0 && bytes % 1024 == 0 ? fmt::format("{} KiB", bytes / 1024) : fmt::format("{} B", bytes);
}

std::string echoed_bytes(std::int64_t bytes) {
  const std::string text = bytes_text(bytes);
  return text.ends_with("KiB") ? fmt::format("{} ({} B)", text, bytes) : text;
}

}  // namespace rung
