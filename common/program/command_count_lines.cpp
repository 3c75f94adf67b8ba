#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>

#include "common/emulator/symbols.hpp"
#include "common/program/command_count.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

constexpr std::size_t kColumns = 98;

// ---- Gathering ----

std::string kind_of(const SiteCounts& site) {
  return fmt::format("{}{} {}", site.is_async ? "async " : "",
                     site.is_constant ? "constant"
                     : site.is_shared ? "shared"
                                      : "global",
                     site.is_atomic  ? "atomic"
                     : site.is_store ? "store"
                                     : "load");
}

/// The fewest transactions that the site's requests need, each with the average number of lanes.
std::uint64_t fewest_transactions(const SiteCounts& site) {
  if (site.requests == 0) return 0;
  constexpr std::uint64_t sector_bytes = 32, wavefront_bytes = 128, word_bytes = 4;
  const std::uint64_t lane_bytes = site.bytes;
  const auto each = [&](std::uint64_t bytes, std::uint64_t size) {
    const std::uint64_t unit = site.requests * size;
    return site.requests * (bytes / unit + (bytes % unit != 0));
  };
  const std::uint64_t fewest = site.is_constant
                                   ? each(site.requests * lane_bytes, word_bytes)
                                   : each(site.accesses * lane_bytes, site.is_shared ? wavefront_bytes : sector_bytes);
  return std::min(fewest, site.transactions);
}

void add(LineAccess& sum, const SiteCounts& site) {
  sum.unit = site.is_constant ? "words" : site.is_shared ? "wavefronts" : "sectors";
  sum.requests += site.requests;
  sum.accesses += site.accesses;
  sum.bytes += site.accesses * site.bytes;
  sum.divergent += site.divergent;
  sum.transactions += site.transactions;
  sum.at_best += fewest_transactions(site);
}

/// The file's path below the folder of the source, which is the same on every machine; else as it is.
std::string brief_path(const std::string& file) {
  const auto path = std::filesystem::path(file).lexically_normal();
  const auto below = path.lexically_relative(built_from());
  return below.empty() || *below.begin() == ".." ? path.string() : below.string();
}

/// Without blanks around it; what would move a terminal's cursor is a blank.
std::string trimmed(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) c = ' ';
  text.erase(text.find_last_not_of(' ') + 1);
  return text.substr(std::min(text.size(), text.find_first_not_of(' ')));
}

/// The texts of lines, each file read once.
class SourceLines {
 public:
  std::string line(const std::string& file, int number) {
    const auto [place, is_new] = files_.try_emplace(file);
    if (is_new) place->second = read(file);
    const auto index = static_cast<std::size_t>(number - 1);
    return index < place->second.size() ? place->second[index] : "";
  }

 private:
  static std::vector<std::string> read(const std::string& file) {
    std::vector<std::string> lines;
    std::error_code ignored;
    const std::filesystem::path found = source_dir() / brief_path(file);  // itself where the path is none of ours
    if (!std::filesystem::is_regular_file(found, ignored)) return lines;
    std::ifstream in(found);
    for (std::string text; std::getline(in, text);) lines.push_back(trimmed(text));
    return lines;
  }
  std::map<std::string, std::vector<std::string>> files_;
};

/// A line's counts while they are added up; kinds by whether they write, so that loads come first.
struct Gathered {
  Operations fp32, fp64, tensor;
  std::map<std::pair<bool, std::string>, LineAccess> accesses;
};

// ---- Showing ----

/// At most `columns` characters of UTF-8 text.
std::string shortened(const std::string& text, std::size_t columns) {
  const auto begins_character = [](char c) { return (c & 0xc0) != 0x80; };
  if (static_cast<std::size_t>(std::count_if(text.begin(), text.end(), begins_character)) <= columns) return text;
  std::size_t end = 0;
  for (std::size_t seen = 0; end < text.size(); ++end)
    if (begins_character(text[end]) && ++seen == columns) break;
  return text.substr(0, end) + "…";
}

void print_line_operations(const char* precision, const Operations& done) {
  std::string text;
  for (const auto& [number, what] : {std::pair(done.fmas, "fused multiply-add"),
                                     {done.adds, "add"},
                                     {done.muls, "multiply"},
                                     {done.specials, "divide, root, …"}})
    if (number > 0)
      text += text.empty() ? fmt::format("{:>12} {}", number, what) : fmt::format(", {} {}", number, what);
  if (!text.empty()) fmt::print("    {:<18} {}\n", precision, text);
}

void print_access(const LineAccess& a) {
  fmt::print("    {:<18} {:>12} {:>12} {:>5.1f} {:>14} {:>8.2f} {:>7.2f}  {}\n", a.kind, a.requests, a.accesses,
             a.lanes(), a.bytes, a.per_request(), a.best_per_request(), a.unit);
}

}  // namespace

std::vector<LineCounts> counts_by_line(const Counts& counts) {
  std::vector<std::uintptr_t> addresses;
  for (const SiteCounts& site : counts.sites) addresses.push_back(site.address);
  for (const OperationSite& site : counts.operation_sites) addresses.push_back(site.address);
  const std::vector<SourceLine> places = lines_of(addresses);

  const auto order = [](const SourceLine& a, const SourceLine& b) {
    return std::make_tuple(a.file.empty(), a.file, a.line) < std::make_tuple(b.file.empty(), b.file, b.line);
  };
  std::map<SourceLine, Gathered, decltype(order)> gathered(order);
  auto place = places.begin();
  for (const SiteCounts& site : counts.sites)
    add(gathered[*place++].accesses[{site.is_store || site.is_atomic, kind_of(site)}], site);
  for (const OperationSite& site : counts.operation_sites) {
    Gathered& line = gathered[*place++];
    line.fp32 += site.fp32;
    line.fp64 += site.fp64;
    line.tensor += site.tensor;
  }

  std::vector<LineCounts> lines;
  SourceLines source;
  for (const auto& [at, sums] : gathered) {
    LineCounts line{.file = at.file.empty() ? "" : brief_path(at.file),
                    .line = at.line,
                    .text = source.line(at.file, at.line),
                    .fp32 = sums.fp32,
                    .fp64 = sums.fp64,
                    .tensor = sums.tensor};
    for (const auto& [kind, access] : sums.accesses) {
      line.accesses.push_back(access);
      line.accesses.back().kind = kind.second;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

void print_lines(const std::vector<LineCounts>& lines) {
  if (lines.empty()) return;
  fmt::print("By line of the source{:>65}\n", "per request");
  fmt::print("    {:<18} {:>12} {:>12} {:>5} {:>14} {:>8} {:>7}\n", "", "requests", "accesses", "lanes", "bytes",
             "counted", "at best");
  std::string rule;
  for (std::size_t i = 0; i < kColumns; ++i) rule += "─";
  fmt::print("{}\n", rule);
  const std::string* file = nullptr;
  for (const LineCounts& line : lines) {
    if (!file || *file != line.file)
      fmt::print("{}\n", line.file.empty() ? "lines not known: addr2line (of binutils) or debug information is missing"
                                           : line.file);
    file = &line.file;
    if (!line.file.empty())
      fmt::print("{:>5}{}{}\n", line.line, line.text.empty() ? "" : "  ", shortened(line.text, kColumns - 7));
    print_line_operations("FP32", line.fp32);
    print_line_operations("FP64", line.fp64);
    print_line_operations("tensor cores", line.tensor);
    for (const LineAccess& access : line.accesses) print_access(access);
  }
  fmt::print("\n");
}

nlohmann::ordered_json to_json(const std::vector<LineCounts>& lines) {
  auto out = nlohmann::ordered_json::array();
  for (const LineCounts& line : lines) {
    auto accesses = nlohmann::ordered_json::array();
    for (const LineAccess& a : line.accesses)
      accesses.push_back({{"kind", a.kind},
                          {"requests", a.requests},
                          {"accesses", a.accesses},
                          {"lanes_per_request", a.lanes()},
                          {"divergent_requests", a.divergent},
                          {"bytes", a.bytes},
                          {"unit", a.unit},
                          {"transactions", a.transactions},
                          {"transactions_per_request", a.per_request()},
                          {"transactions_at_best", a.at_best}});
    out.push_back({{"file", line.file},
                   {"line", line.line},
                   {"text", line.text},
                   {"fp32", to_json(line.fp32)},
                   {"fp64", to_json(line.fp64)},
                   {"tensor", to_json(line.tensor)},
                   {"accesses", accesses}});
  }
  return out;
}

}  // namespace rung
