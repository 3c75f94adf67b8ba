/// For an invalid command line rung reports the unknown word and the nearest known one.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace {

struct Ended {
  int code = -1;
  std::string output;
};

Ended rung(const std::string& arguments) {
  std::FILE* pipe = popen((std::string(RUNG_PROGRAM) + " " + arguments + " 2>&1 </dev/null").c_str(), "r");
  Ended ended;
  std::array<char, 4096> buffer;
  while (const std::size_t n = fread(buffer.data(), 1, buffer.size(), pipe)) ended.output.append(buffer.data(), n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
  return ended;
}

struct Wrong {
  const char *arguments, *answer;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << "rung " << wrong.arguments; }

class Usage : public testing::TestWithParam<Wrong> {};

TEST_P(Usage, SaysWhatIsMeant) {
  const Ended ended = rung(GetParam().arguments);
  EXPECT_EQ(ended.code, 2) << ended.output;
  EXPECT_EQ(ended.output, std::string("rung: ") + GetParam().answer + "\n");
}

constexpr Wrong kWrong[] = {
    {"lst", "no command is called 'lst'; did you mean 'list'?; `rung --help` lists them"},
    {"clams pmpp", "no command is called 'clams'; did you mean 'claims'?; `rung --help` lists them"},
    {"zzzzzzzzzz", "no command is called 'zzzzzzzzzz'; `rung --help` lists them"},
    {"--verion", "`rung` has no option '--verion'; did you mean '--version'?; `rung --help` lists them"},
    {"list --row", "`rung list` has no option '--row'; did you mean '--rows'?; `rung list --help` lists them"},
    {"list -x", "`rung list` has no option '-x'; `rung list --help` lists them"},
    {"run --ful occupancy", "`rung run` has no option '--ful'; did you mean '--full'?; `rung run --help` lists them"},
    {"count --line=3", "`rung count` has no option '--line'; did you mean '--lines'?; `rung count --help` lists them"},
    {"occupancy --share 32KiB --threads 256",
     "`rung occupancy` has no option '--share'; did you mean '--shared'?; `rung occupancy --help` lists them"},
    {"doctor json", "`rung doctor` takes no argument 'json'; did you mean '--json'?"},
    {"blur --out x.pgm", "`rung blur`: --image is required"},
    {"occupancy --device A100 --threads 256 --registers 4o", "--registers takes a number, not '4o'"},
    {"occupancy --device A100 --threads 256 --shared 32KiO",
     "'32KiO' has the unknown unit 'kio'; did you mean 'KiB'?; the units are B, KiB, MiB, GiB"},
    {"occupancy --device A100 --threads 256 --shared some",
     "'some' is not an amount of memory: give whole bytes, as 32768, 32KiB or 32KB (of 1024 B)"},
    {"bound A100 --ratio 4flop/s",
     "'4flop/s' has the unknown unit 'flop/s'; did you mean 'FLOP/B'?; the units are OP/B, FLOP/B"},
    {"count gpu/matmul/tild",
     "no kernel is called 'gpu/matmul/tild'; did you mean 'gpu/matmul/tiled'?; `rung list` shows them all"},
    {"run ocupancy", "no experiment is called 'ocupancy'; did you mean 'occupancy'?"},
};
INSTANTIATE_TEST_SUITE_P(Words, Usage, testing::ValuesIn(kWrong));

TEST(Usage, NamesTheCommandsWhereNoneIsGiven) {
  const Ended ended = rung("");
  EXPECT_EQ(ended.code, 2);
  for (const char* command : {"list", "run", "count", "check", "claims", "doctor", "`rung --help`"})
    EXPECT_NE(ended.output.find(command), std::string::npos) << ended.output;
}

TEST(Usage, VersionNamesCommitCompilersAndLibraries) {
  const Ended ended = rung("--version");
  EXPECT_EQ(ended.code, 0);
  for (const char* word : {"rung 0.", "\ncommit ", "\ncompiler ", "\nCUDA ", "\nwith ", "Google Benchmark", "fmt"})
    EXPECT_NE(ended.output.find(word), std::string::npos) << ended.output;
}

}  // namespace
