#include "tests/fuzz/readers.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <filesystem>
#include <sstream>
#include <string>

#include "common/harness/experiment.hpp"
#include "common/harness/journal.hpp"
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

template <typename Action>
void attempt(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    if (std::string_view(error.what()).empty()) throw std::logic_error("an error without words");
  }
}

void read_toml(std::string_view bytes) {
  const File file(bytes);
  for (const Scale scale : {Scale::full, Scale::brief}) attempt([&] { load_experiment(file.path(), scale); });
}

void read_pnm(std::string_view bytes) {
  const File file(bytes);
  attempt([&] {
    const Picture picture = read_picture(file.path());
    for (const std::vector<float>& plane : picture.planes)
      if (plane.size() != std::size_t(picture.rows) * std::size_t(picture.cols))
        throw std::logic_error("a short plane");
  });
}

/// As `--resume` does: a first record with an identity, and points.
void read_journal(std::string_view bytes) {
  const File file(bytes);
  const Json header = journal_header(file.path());
  attempt([&] { Journal(file.path(), header.is_object() ? header : Json{{"identity", 1}}); });
  attempt([&] { difference(header, Json{{"identity", {{"seed", 1}}}}); });
}

/// Words of a command line: amounts, and the axes and kernels of `rung run -k … -a … --benchmark_filter`.
void read_words(std::string_view bytes) {
  std::istringstream lines{std::string(bytes)};
  std::vector<std::string> words;
  for (std::string word; words.size() < 8 && std::getline(lines, word);) words.push_back(word);
  for (const std::string& word : words) {
    attempt([&] { parse_bytes(word); });
    attempt([&] { parse_threads(word); });
    attempt([&] { parse_ratio(word); });
  }
  if (!words.empty()) attempt([&] { adhoc_experiment({words.front()}, {words.begin() + 1, words.end()}); });
  if (!words.empty()) attempt([&] { adhoc_experiment({"cpu/vector_addition/*"}, words); });
}

}  // namespace

const Reader readers[kReaders] = {
    {"toml", read_toml}, {"pnm", read_pnm}, {"journal", read_journal}, {"words", read_words}};

}  // namespace rung
