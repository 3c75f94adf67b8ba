/// Input that was made to break the program, and surroundings that end a run: each is reported in one line.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "tests/temporary_folder.hpp"

namespace {

using nlohmann::json;

struct Ended {
  int code;
  std::string output;
};

Ended shell(const std::string& command) {
  std::FILE* pipe = popen(("{ " + command + "; } 2>&1").c_str(), "r");
  Ended ended{-1, ""};
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// Ends a hanging process. On a busy machine, work of seconds may take minutes.
#define TIMEOUT "timeout 180 "

Ended rung(const std::string& arguments) { return shell(TIMEOUT RUNG_PROGRAM " " + arguments); }

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

constexpr const char* kQuick = " --benchmark_repetitions=2 --benchmark_min_time=0.0001 ";

void expect_one_line(const Ended& ended, int code, const std::string& said, const std::string& what) {
  EXPECT_EQ(ended.code, code) << what << ": " << ended.output.substr(0, 400);
  EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << what << ended.output.substr(0, 400);
  EXPECT_NE(ended.output.find(said), std::string::npos) << what << ": " << ended.output.substr(0, 400);
  for (const char c : ended.output) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << what;
}

TEST(HostileInput, ExperimentsAreRefusedInOneLine) {
  TemporaryFolder folder;
  const std::string head = "title = 't'\nquestion = 'q'\n[[sweep]]\nkernels = ['cpu/matmul/naive']\n";
  std::string many = "[1";
  for (int i = 2; i < 2000; ++i) many += "," + std::to_string(i);
  many += "]\n";
  const std::vector<std::pair<std::string, std::string>> files{
      {head + "sizes = [{n = 8, q = 9}]\n", "'q'"},
      {head + "sizes = [{n = [8, 9]}]\n", "one whole number"},
      {head + "sizes = {n = [8, 9]}\n", "list of tables"},
      {head + "m = " + many + "n = " + many + "k = " + many, "more than 100000 points"},
      {"[[sweep]]\nkernels = ['" + repeated("*a", 40) + "x']\nn = 8\n", "no kernel"},
      {repeated("a.", 100000) + "b = 1\n", "more than 65536 bytes"},
      {"\n" + repeated("a.", 32000) + "b = 1\n", "line 2 has more than 1000 dots"},
      {repeated("a.", 1000) + "b = 1\n", "unknown key"},
      {"a = " + repeated("[", 60000) + "\n", "nested"},
      {"title = \"\\u001b[31mred\"\nquestion = 'q'\n" + head.substr(head.find("[[")) + "n = 8\n", "control characters"},
      {"title = \"\\u009b31mred\"\nquestion = 'q'\n" + head.substr(head.find("[[")) + "n = 8\n", "control characters"},
      {head + "n = 8\n\"\\u001b[31m\" = 3\n", "?[31m"}};
  for (const auto& [text, said] : files)
    expect_one_line(rung("run " + folder.write("x.toml", text).string() + " -o " + folder.path().string()), 2, said,
                    text.substr(0, 60));
}

TEST(HostileInput, FiltersAreRefusedInOneLine) {
  for (const auto& [filter, said] : std::vector<std::pair<std::string, std::string>>{
           {"(.*)*(.*)*X", "leaves no point"},
           {repeated("(", 30000) + repeated(")", 30000), "letters"},
           {"((a{1,255}){1,255}){1,255}", "repeats too much"},
           {repeated("(", 160) + "a" + repeated("|a)+?", 160) + "X", "repeats too much"},
           {"(a", "no regular expression"},
           {"\\d+", "no part of extended regular expressions"}})
    expect_one_line(rung("run -k cpu/matmul/naive -a n=8 --benchmark_list_tests --benchmark_filter='" + filter + "'"),
                    2, said, filter.substr(0, 40));
  EXPECT_EQ(rung("run -k cpu/matmul/naive -a n=8,16 --benchmark_list_tests --benchmark_filter='n:[0-9]{2}$'").output,
            "cpu/matmul/naive/n:16\n");
}

TEST(HostileInput, NumbersOutOfAllProportionAreRefusedInOneLine) {
  expect_one_line(rung("run -k cpu/matmul/naive -a n=8 --benchmark_min_time=1e300"), 2, "at most", "1e300");
  expect_one_line(rung("run -k cpu/matmul/naive -a n=8 --benchmark_min_time=nan"), 2, "give seconds", "nan");
  expect_one_line(shell("OMP_NUM_THREADS=100000 " TIMEOUT RUNG_PROGRAM " list"), 2, "OMP_NUM_THREADS", "threads");
}

TEST(HostileInput, OneSampleHasNoInterval) {
  TemporaryFolder folder;
  const Ended ended = rung("run -k cpu/matmul/naive -a n=8 --benchmark_repetitions=1 -o " + folder.path().string());
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.output.find("nan"), std::string::npos) << ended.output;
}

TEST(Surroundings, ClosedAndFullStreams) {
  EXPECT_EQ(shell(RUNG_PROGRAM " run -k cpu/matmul/nave -a n=8 2>&-").code, 2);
  EXPECT_EQ(shell(RUNG_PROGRAM " list >&-").code, 0);
  expect_one_line(shell(RUNG_PROGRAM " list >/dev/full"), 4, "standard output", "/dev/full");
}

/// If the reader of the output leaves, no measured point is lost.
TEST(Surroundings, AReaderThatLeavesCostsNoPoint) {
  TemporaryFolder folder;
  shell(std::string("( " RUNG_PROGRAM " run -k cpu/matmul/naive -a n=8,9,10,11,12 -o ") + folder.path().string() +
        kQuick + " 2>/dev/null ) | head -n 1");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "adhoc.json") {
      const json results = json::parse(file_text(entry.path()));
      EXPECT_EQ(results["context"]["complete"], true);
      EXPECT_EQ(results["benchmarks"].size(), 10u);
      for (const json& sample : results["benchmarks"]) EXPECT_TRUE(sample.contains("gflops")) << sample;
      return;
    }
  FAIL() << "no results";
}

TEST(Surroundings, AFileSizeLimitIsAnErrorOfWriting) {
#ifdef __clang__
  GTEST_SKIP() << "clang's OpenMP writes a file of its own before main()";
#endif
  TemporaryFolder folder;
  const Ended ended = shell(std::string("ulimit -f 1; " RUNG_PROGRAM " run -k 'cpu/matmul/*' -a n=8 -o ") +
                            folder.path().string() + kQuick + "2>&1 >/dev/null");
  expect_one_line(ended, 4, "cannot write", "ulimit -f");
}

class Signals : public testing::TestWithParam<int> {};

/// The exit code after a signal to the shell's process, as by kill or a closing terminal; sent when `is_due`, or later.
int code_after(int signal, const std::string& command, const std::function<bool()>& is_due) {
  const pid_t child = fork();
  if (child == 0) {
    ::signal(signal, SIG_DFL);  // it is inherited, and nohup has SIGHUP ignored
    execl("/bin/sh", "sh", "-c", ("exec >/dev/null 2>&1; exec " + command).c_str(), nullptr);
    _exit(127);
  }
  for (int i = 0; i < 18'000 && !is_due(); ++i) usleep(10'000);
  kill(child, signal);
  int status = 0;
  for (int tenths = 0; waitpid(child, &status, WNOHANG) == 0; ++tenths) {
    if (tenths > 1800) kill(child, SIGKILL);
    usleep(100'000);
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/// Folders of runs with at least one measured point.
std::set<std::filesystem::path> runs_under_way(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().filename() != "journal.jsonl") continue;
    const std::string text = file_text(entry.path());
    if (std::count(text.begin(), text.end(), '\n') > 1) found.insert(entry.path().parent_path());
  }
  return found;
}

TEST_P(Signals, LeaveResultsThatCanBeResumed) {
  TemporaryFolder folder;
  const std::string run = std::string(RUNG_PROGRAM) + " run -k cpu/matmul/naive -a n=60,61,62,63,64,65,66,67 -o " +
                          folder.path().string() + " --benchmark_repetitions=30 --benchmark_min_time=0.01";
  ASSERT_EQ(code_after(GetParam(), run, [&] { return !runs_under_way(folder.path()).empty(); }), 130);
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "adhoc.json") {
      ++files;
      EXPECT_EQ(json::parse(file_text(entry.path()))["context"]["interrupted"], true);
    }
  EXPECT_EQ(files, 1);
}

TEST_P(Signals, EndACountOrACheckAtOnce) {
  const TemporaryFolder folder;
  const std::string command = GetParam() == SIGTERM ? "check" : "count", said = (folder / "said").string();
  const int code = code_after(GetParam(), RUNG_PROGRAM " " + command + " gpu/matmul/naive --n 2048 2>" + said,
                              [&] { return !file_text(said).empty(); });
  EXPECT_EQ(code, 130) << command;
}

INSTANTIATE_TEST_SUITE_P(All, Signals, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(Surroundings, ALongCountSaysHowLongItTakes) {
  const TemporaryFolder folder;
  const std::string said = (folder / "said").string();
  const int code = code_after(SIGTERM, RUNG_PROGRAM " count gpu/matmul/naive --n 2048 2>" + said,
                              [&] { return !file_text(said).empty(); });
  EXPECT_EQ(code, 130);
  EXPECT_NE(file_text(said).find(" blocks"), std::string::npos) << file_text(said);
  EXPECT_EQ(shell(RUNG_PROGRAM " count gpu/matmul/naive --n 64 2>&1 >/dev/null").output, "");
}

TEST(Results, OfSkippedPointsHaveWhatGoogleBenchmarkWrites) {
  TemporaryFolder folder;
  ASSERT_EQ(
      shell(std::string("CUDA_VISIBLE_DEVICES= " RUNG_PROGRAM " run -k cpu/matmul/naive gpu/matmul/naive -a n=8 -o ") +
            folder.path().string() + kQuick + "--benchmark_out=" + (folder / "out.json").string())
          .code,
      0);
  int skipped = 0;
  const json results = json::parse(file_text(folder / "out.json"));
  for (const json& entry : results["benchmarks"]) {
    skipped += entry.value("skipped", false);
    for (const char* key : {"real_time", "cpu_time", "iterations"}) EXPECT_TRUE(entry.at(key).is_number()) << entry;
    EXPECT_EQ(entry.at("time_unit"), "ns");
    EXPECT_EQ(entry.at("run_type"), "iteration");
  }
  EXPECT_EQ(skipped, 1);
  const std::string program = std::filesystem::path(RUNG_PROGRAM).filename().string();
  EXPECT_TRUE(results["context"]["command_line"].get<std::string>().starts_with(program + " run "));
}

/// The folder of a run that SIGKILL stopped in the middle, as a power failure does.
std::filesystem::path unfinished(const std::filesystem::path& folder, const std::string& arguments,
                                 const std::string& environment = "") {
  const auto before = runs_under_way(folder);
  code_after(SIGKILL,
             "env " + environment + " " RUNG_PROGRAM " run -k cpu/matmul/naive " + arguments + " -o " +
                 folder.string() + " --benchmark_repetitions=30 --benchmark_min_time=0.01",
             [&] { return runs_under_way(folder).size() > before.size(); });
  for (const auto& run : runs_under_way(folder))
    if (!before.contains(run)) return run;
  return {};
}

TEST(Resume, RefusesWhatDecidesHowAPointIsSampled) {
  TemporaryFolder folder;
  const std::string points = "-a n=60,61,62,63,64,65,66,67 ";
  ASSERT_FALSE(unfinished(folder.path(), points, "OMP_NUM_THREADS=2").empty());
  const std::string again = " run -k cpu/matmul/naive " + points + " -o " + folder.path().string() +
                            " --benchmark_repetitions=30 --benchmark_min_time=0.01 --resume ";
  for (const auto& [environment, more, said] : std::vector<std::tuple<std::string, std::string, std::string>>{
           {"OMP_NUM_THREADS=1", "", "OMP_NUM_THREADS"},
           {"OMP_NUM_THREADS=2 OPENBLAS_CORETYPE=Nehalem", "", "OPENBLAS_CORETYPE"},
           {"OMP_NUM_THREADS=2", "--seed 2", "seed was 1 and is 2"},
           {"OMP_NUM_THREADS=2", "-a samples=4", "points are others"},
           {"OMP_NUM_THREADS=2", "-a max_samples=40", "points are others"},
           {"OMP_NUM_THREADS=2", "-a longest_run=9", "points are others"},
           {"OMP_NUM_THREADS=2", "-a warm_up=0.1", "has been rewritten"},
           {"OMP_NUM_THREADS=2", "-a energy=true", "points are others"},
           {"OMP_NUM_THREADS=2", "--device 1", "device was 0 and is 1"}}) {
    const Ended ended = shell(environment + " " TIMEOUT RUNG_PROGRAM + again + more + " 2>&1 >/dev/null");
    expect_one_line(ended, 2, said, more + environment);
  }
  EXPECT_EQ(shell("OMP_NUM_THREADS=2 " RUNG_PROGRAM + again).code, 0);
}

TEST(Resume, IsNotBlockedByAnotherUnfinishedRun) {
  TemporaryFolder folder;
  const std::string points = "-a n=60,61,62,63,64,65,66,67 ";
  const auto first = unfinished(folder.path(), points);
  const auto second = unfinished(folder.path(), "-a n=70,71,72,73,74,75,76,77 ");
  ASSERT_FALSE(first.empty());
  ASSERT_NE(first, second);
  const Ended ended = rung("run -k cpu/matmul/naive " + points + " -o " + folder.path().string() +
                           " --benchmark_repetitions=30 --benchmark_min_time=0.01 --resume");
  EXPECT_EQ(ended.code, 0) << ended.output;
  EXPECT_TRUE(exists(first / "adhoc.json"));
  EXPECT_TRUE(exists(second / "journal.jsonl"));
}

TEST(Resume, OfSeveralRunsAtOnceNoneLosesItsResults) {
  TemporaryFolder folder;
  const std::string run = std::string(RUNG_PROGRAM) + " run -k cpu/matmul/naive -a n=8 -o " + folder.path().string() +
                          kQuick + ">/dev/null";
  std::string all;
  for (int i = 0; i < 8; ++i) all += run + " & ";
  ASSERT_EQ(shell(all + "wait").output, "");
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    files += entry.path().filename() == "adhoc.json";
  EXPECT_EQ(files, 8);
}

}  // namespace
