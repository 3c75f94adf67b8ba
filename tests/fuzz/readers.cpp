#include "tests/fuzz/readers.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <string>

#include "common/harness/experiment.hpp"
#include "common/harness/journal.hpp"
#include "common/program/commands.hpp"
#include "common/program/picture.hpp"
#include "common/program/quantity.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

/// A file in memory with these bytes.
class File {
 public:
  explicit File(std::string_view bytes) {
    static const int descriptor = memfd_create("bytes", MFD_CLOEXEC);
    if (ftruncate(descriptor, 0) != 0 ||
        pwrite(descriptor, bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size()))
      throw std::logic_error("no file in memory");
    path_ = "/proc/self/fd/" + std::to_string(descriptor);
  }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// What is printed meanwhile goes nowhere.
class Quiet {
 public:
  Quiet() {
    std::fflush(stdout);
    static const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    dup2(nowhere, STDOUT_FILENO);
  }
  ~Quiet() {
    std::fflush(stdout);
    dup2(before_, STDOUT_FILENO);
    close(before_);
  }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;

 private:
  int before_ = dup(STDOUT_FILENO);
};

template <typename Action>
void attempt(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    if (std::string_view(error.what()).empty()) throw std::logic_error("an error without words");
  }
}

/// The brief study reads the same, unless a key says what is brief or full about it.
void read_toml(std::string_view bytes) {
  const std::string text(bytes);
  attempt([&] { parse_experiment(text, "experiment.toml", Scale::full); });
  if (text.find("brief") != std::string::npos || text.find("full") != std::string::npos)
    attempt([&] { parse_experiment(text, "experiment.toml", Scale::brief); });
}

void read_pnm(std::string_view bytes) {
  attempt([&] {
    const Picture picture = parse_picture(std::string(bytes), "picture.pgm");
    for (const std::vector<float>& plane : picture.planes)
      if (plane.size() != std::size_t(picture.rows) * std::size_t(picture.cols))
        throw std::logic_error("a short plane");
  });
}

/// The checksum that stands for "*" at the beginning of a line is put there, so that mutations reach what it guards.
std::string sealed(std::string_view bytes) {
  std::istringstream lines{std::string(bytes)};
  std::string text;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("* ")) line.replace(0, 1, checksum(line.substr(2)));
    text += line + (lines.eof() ? "" : "\n");
  }
  return text;
}

/// As `--resume` does: a first record with an identity, and points.
void read_journal(std::string_view bytes) {
  const File file(sealed(bytes));
  const Json header = journal_header(file.path());
  attempt([&] {
    const Journal journal(file.path(), {{"identity", header.value("identity", Json())}});
    for (const Json& record : journal.records()) holds_points(record);
  });
  attempt([&] { difference(header, Json{{"identity", {{"seed", 1}}}}); });
}

/// An amount of memory, a block of threads, a ratio.
void read_amount(std::string_view bytes) {
  const std::string word(bytes);
  attempt([&] { parse_bytes(word); });
  attempt([&] { parse_threads(word); });
  attempt([&] { parse_ratio(word); });
}

/// Words of `rung run -k … -a …`, one a line: the kernels, then the axes.
void read_words(std::string_view bytes) {
  std::istringstream lines{std::string(bytes)};
  std::vector<std::string> words;
  for (std::string word; words.size() < 8 && std::getline(lines, word);) words.push_back(word);
  if (!words.empty()) attempt([&] { adhoc_experiment({words.front()}, {words.begin() + 1, words.end()}); });
}

/// A command line of the calculators, as `rung model` takes it.
void read_question(std::string_view bytes) {
  const std::string text(bytes);
  const Quiet quiet;
  CommandLine line("rung", "", false);
  add_calculators(line.program());
  attempt([&] { line.parse(text + " --json"); });
}

}  // namespace

const Reader readers[kReaders] = {{"toml", read_toml},     {"pnm", read_pnm},     {"journal", read_journal},
                                  {"amount", read_amount}, {"words", read_words}, {"question", read_question}};

}  // namespace rung
