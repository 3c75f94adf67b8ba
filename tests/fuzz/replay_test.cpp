/// Runs the readers of foreign text on the corpus, on its prefixes, and on some thousands of mutations of it.
/// tests/fuzz/run.sh takes longer, under sanitizers and guided by coverage.
#include <gtest/gtest.h>

#include <ctime>
#include <random>

#include "common/source_dir.hpp"
#include "tests/fuzz/readers.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

std::vector<std::string> corpus(const char* name) {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(source_dir() / "tests" / "fuzz" / "corpus" / name))
    files.push_back(file_text(entry.path()));
  std::sort(files.begin(), files.end());
  return files;
}

/// A few bytes are changed, doubled, left out, or replaced by a part of another file or by what readers trip over.
std::string mutated(std::string text, const std::string& other, std::mt19937& random) {
  constexpr std::string_view kWords[] = {"-1", "0", "1e308", "nan", "9223372036854775807",     "[",    "]",
                                         "{",  "}", "\"",    "\n",  std::string_view("\0", 1), "\xff", "*",
                                         "=",  ",,"};
  const auto below = [&](std::size_t limit) { return random() % (limit + 1); };
  for (std::size_t i = 0; i < 1 + below(4); ++i) {
    const std::size_t at = below(text.size()), length = below(std::min<std::size_t>(text.size() - at, 12));
    switch (random() % 5) {
      case 0:
        text.erase(at, length);
        break;
      case 1:
        text.insert(at, text.substr(at, length));
        break;
      case 2:
        text.replace(at, length, kWords[below(std::size(kWords) - 1)]);
        break;
      case 3:
        text.replace(at, length, other.substr(below(other.size()), 12));
        break;
      default:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ (1 << random() % 8));
    }
  }
  return text;
}

class Fuzz : public testing::TestWithParam<Reader> {};

TEST_P(Fuzz, BytesAreReadOrRefused) {
  constexpr int kMutations = 10000;
  constexpr double kMostSeconds = 5;  // of one input
  const Reader& reader = GetParam();
  const std::vector<std::string> files = corpus(reader.name);
  ASSERT_FALSE(files.empty());
  std::vector<std::string> inputs = files;
  for (const std::string& file : files)
    for (std::size_t i = 0; i < file.size(); i += 1 + file.size() / 200) inputs.push_back(file.substr(0, i));
  std::mt19937 random(1);
  for (int i = 0; i < kMutations; ++i)
    inputs.push_back(mutated(files[random() % files.size()], files[random() % files.size()], random));
  for (const std::string& input : inputs) {
    const std::clock_t start = std::clock();
    ASSERT_NO_THROW(reader.read(input)) << testing::PrintToString(input);
    ASSERT_LT(double(std::clock() - start) / CLOCKS_PER_SEC, kMostSeconds) << testing::PrintToString(input);
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Fuzz, testing::ValuesIn(readers), [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace rung
