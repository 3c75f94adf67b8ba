/// Kernels that crash, hang and exit in the midst of a study, and calls of the system that fail. tests/faults/run.sh
/// does the same at random and for longer.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "common/harness/journal.hpp"
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

constexpr const char* kQuick = " --benchmark_repetitions=2 --benchmark_min_time=0.0001 ";

/// Of the only run below the folder.
json results_in(const std::filesystem::path& folder) {
  json found;
  int files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().filename() == "adhoc.json" && ++files) found = json::parse(file_text(entry.path()));
  EXPECT_EQ(files, 1);
  return found;
}

struct Fault {
  const char *kernel, *said;
};

class Faults : public testing::TestWithParam<Fault> {};

TEST_P(Faults, CostTheirOwnPointAlone) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer ends the program in its own way";
#endif
  const auto [kernel, said] = GetParam();
  TemporaryFolder folder;
  const Ended ended = shell(std::string(RUNG_WITH_FAULTS) + " run -k cpu/matmul/naive cpu/matmul/" + kernel +
                            " -a n=8,16,24 --point-limit 3 -o " + folder.path().string() + kQuick);
  EXPECT_EQ(ended.code, 1) << ended.output;
  const json results = results_in(folder.path());
  EXPECT_EQ(results["context"]["complete"], true);
  EXPECT_EQ(results["context"]["points_done"], 6);
  for (const json& entry : results["benchmarks"]) {
    const bool is_faulty = entry["kernel"] != "cpu/matmul/naive" && entry["sizes"]["n"] != 8;
    EXPECT_EQ(entry.contains("gflops"), !is_faulty) << entry["name"];
    if (is_faulty) {
      EXPECT_NE(std::string(entry["error_message"]).find(said), std::string::npos) << entry;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Planted, Faults,
                         testing::Values(Fault{"aborts", "Aborted"}, Fault{"reads_null", "Segmentation fault"},
                                         Fault{"exits", "ended the process with code 0"},
                                         Fault{"exits_130", "ended the process with code 130"},
                                         Fault{"exits_75", "ended the process with code 75"},
                                         Fault{"daemon", "ended the process with code 0"},
                                         Fault{"closes", "ended the process with code 1"},
                                         Fault{"corrupts", "ended the process"}, Fault{"hangs", "took longer than"}),
                         [](const auto& fault) { return std::string(fault.param.kernel); });

TEST(Faults, InAGroupLeaveTheOthersToBeMeasuredAlone) {
  TemporaryFolder folder;
  const Ended ended = shell(std::string(RUNG_WITH_FAULTS) + " run -k cpu/matmul/naive cpu/matmul/aborts -a n=16 -a " +
                            "interleave=true -o " + folder.path().string() + kQuick);
  EXPECT_EQ(ended.code, 1) << ended.output;
  const json results = results_in(folder.path());
  for (const json& entry : results["benchmarks"]) {
    EXPECT_EQ(entry.contains("gflops"), entry["kernel"] == "cpu/matmul/naive") << entry;
    if (entry.contains("gflops")) {
      EXPECT_NE(std::string(entry["not_interleaved"]).find("Aborted"), std::string::npos);
    }
  }
}

/// A kernel whose record says what cannot be is refused with its name, and costs no other kernel anything.
TEST(MistakenRecords, AreRefusedByNameAndTheOthersWork) {
  const std::string program = RUNG_WITH_FAULTS;
  const Ended listed = shell(program + " list '*pu/transpos*'");
  EXPECT_EQ(listed.code, 1) << listed.output;
  for (const auto& [name, reason] : {
           std::pair{"cpu/transpos/family", "no problem is called 'transpos' in fp32; did you mean 'transpose'?"},
           {"tpu/transpose/side", "its name begins with 'tpu', not with cpu or gpu"},
           {"cpu/transpose", "a name is side/family/variant"},
           {"cpu/transpose/twice", "two kernels have this name"},
           {"cpu/transpose/source", "its source 'pmmp' is no entry of experiments/sources.toml; did you mean 'pmpp'?"},
           {"cpu/transpose/no_run", "it has no .run"},
           {"cpu/transpose/tunable", "its tunable 'tile' has no values"},
           {"cpu/transpose/size", "its tunable 'n' has the name of a size"},
           {"gpu/transpose/no_launch", "it has no .gpu.launch"},
           {"gpu/transpose/no_requested", "it has no .gpu.requested"},
           {"gpu/transpose/does_nothing", "it has no .run"},
       }) {
    const std::size_t line = listed.output.find(std::string(name) + " ");
    ASSERT_NE(line, std::string::npos) << name << ":\n" << listed.output;
    const std::string text = listed.output.substr(line, listed.output.find('\n', line) - line);
    EXPECT_NE(text.find(std::string("REFUSED: ") + reason), std::string::npos) << text;
  }
  EXPECT_NE(listed.output.find("gpu/transpose/tile "), std::string::npos) << listed.output;
  EXPECT_EQ(shell(program + " list 'cpu/matmul/*'").code, 0);

  const Ended checked = shell(program + " check 'gpu/transpose/*' --n 8");
  EXPECT_EQ(checked.code, 1) << checked.output;
  EXPECT_NE(checked.output.find("REFUSED gpu/transpose/no_launch: it has no .gpu.launch"), std::string::npos);
  EXPECT_NE(checked.output.find("the result is right"), std::string::npos) << checked.output;
  const Ended alone = shell(program + " count gpu/transpose/no_launch --n 8");
  EXPECT_EQ(alone.code, 1) << alone.output;

  TemporaryFolder folder;
  const Ended ran = shell(program + " run -k 'cpu/transpose/*' -a n=8 -o " + folder.path().string() + kQuick);
  EXPECT_EQ(ran.code, 1) << ran.output;
  EXPECT_NE(ran.output.find("REFUSED cpu/transpose/no_run: it has no .run"), std::string::npos) << ran.output;
  const json results = results_in(folder.path());
  EXPECT_EQ(results["context"]["complete"], true);
  EXPECT_EQ(results["context"]["refused_kernels"]["cpu/transpose/no_run"], "it has no .run");
  for (const json& entry : results["benchmarks"]) EXPECT_TRUE(entry.contains("gbytes_per_s")) << entry;
}

/// A kernel that fails on the emulator is named with what is wrong, and all others are counted and checked.
TEST(FailingKernels, CostTheOthersNothing) {
  for (const std::string command : {" check ", " count "}) {
    const Ended ended =
        shell(std::string(RUNG_WITH_FAULTS) + command + "'gpu/transpose/fails_*' gpu/transpose/tile --n 8");
    EXPECT_EQ(ended.code, 1) << ended.output;
    for (const char* said : {
             "gpu/transpose/fails_operand: requests an operand or element that does not exist; of operands it has 0 to "
             "1",
             "gpu/transpose/fails_throw: oops",
             "gpu/transpose/fails_size: its .gpu.launch fails: 'nn' is not given",
         })
      EXPECT_NE(ended.output.find(said), std::string::npos) << said << ":\n" << ended.output;
    EXPECT_NE(ended.output.find(command == " check " ? "the result is right" : "gpu/transpose/tile"), std::string::npos)
        << ended.output;
  }
}

/// A small study in which one call of the system fails.
struct Starved {
  TemporaryFolder folder;
  Ended ended;
  bool call_failed;

  explicit Starved(const std::string& environment)
      : ended(shell("timeout 60 env LD_PRELOAD=" RUNG_FAILING_CALLS " OMP_WAIT_POLICY=passive " + environment +
                    " RUNG_FAILED=" + (folder / "failed").string() + " " + run() + " >/dev/null")),
        call_failed(std::filesystem::exists(folder / "failed")) {}

  std::string run() const {
    return std::string(RUNG_PROGRAM) + " run -k cpu/matmul/naive -a n=8,9" + kQuick + " -o " +
           (folder / "out").string();
  }
  /// That are not empty, as is the first one of what libgomp says before it ends a process.
  std::int64_t lines() const {
    std::istringstream all(ended.output);
    std::int64_t count = 0;
    for (std::string line; std::getline(all, line);) count += !line.empty();
    return count;
  }
  bool ended_in_one_line() const { return lines() == 1; }
};

TEST(Faults, OfTheDiskEndInOneLineWithCode4) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer comes before every other library";
#endif
  for (const char* call : {"write", "fsync", "rename", "open"})
    for (int n = 1;; ++n) {
      const Starved study("RUNG_FAIL=" + std::string(call) + ":" + std::to_string(n));
      const auto& [code, output] = study.ended;
      if (!study.call_failed) {
        EXPECT_GT(n, 1) << call << " is never called";
        EXPECT_EQ(code, 0) << output;
        break;
      }
      EXPECT_TRUE(code == 4 || code == 0) << call << " " << n << ": " << code << " " << output;
      EXPECT_EQ(study.ended_in_one_line(), code == 4) << output;
      if (code == 4) {
        const Ended resumed =
            shell("LD_PRELOAD=" RUNG_FAILING_CALLS " OMP_WAIT_POLICY=passive " + study.run() + " --resume");
        EXPECT_EQ(resumed.code, 0) << call << " " << n << ": " << resumed.output;
      }
      EXPECT_EQ(results_in(study.folder / "out")["benchmarks"].size(), 4u) << call << " " << n;
    }
}

/// Codes 0 and 1 where a point alone was lost; of that the process that measured it may have said why, too.
void expect_one_line(const Starved& study, const std::string& which) {
  const auto& [code, output] = study.ended;
  EXPECT_TRUE(code == 0 || code == 1 || code == 2 || code == 4) << which << ": " << code << " " << output;
  if (code != 0) {
    EXPECT_TRUE(study.ended_in_one_line() || (code == 1 && study.lines() == 2)) << which << ": " << output;
  }
}

TEST(Faults, OfMemoryEndInOneLine) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer comes before every other library";
#endif
  const auto fail = [](int n) { return Starved("RUNG_FAIL=alloc:" + std::to_string(n)); };
  int reached = 0, beyond = 1 << 18;  // allocations of a run
  while (beyond - reached > beyond / 64)
    (fail((reached + beyond) / 2).call_failed ? reached : beyond) = (reached + beyond) / 2;
  ASSERT_GT(reached, 1000);
  std::mt19937 random(1);
  for (int i = 0; i < 30; ++i) {  // most of them while the results are put together
    const int n = std::uniform_int_distribution<int>(i % 3 == 0 ? 1 : reached - reached / 16, reached)(random);
    expect_one_line(fail(n), "allocation " + std::to_string(n));
  }
}

TEST(Faults, OfMemoryInALibraryThatDoesNotLookCostNothing) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "the address sanitizer comes before every other library";
#endif
  bool failed = true;
  for (int n = 1; failed; n += 1 + n / 5) {
    const Starved study("RUNG_FAIL_IN=libhwloc RUNG_FAIL=alloc:" + std::to_string(n));
    if (n == 1 && !study.call_failed) GTEST_SKIP() << "a build without hwloc";
    EXPECT_EQ(study.ended.code, 0) << n << ": " << study.ended.output;
    EXPECT_EQ(study.ended.output, "") << n;
    failed = study.call_failed;
  }
}

/// As a journal of another version would have: with checksums that fit, of what no study wrote.
TEST(Resume, MeasuresAgainWhatRecordsOfAnotherShapeHad) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "what is loaded before the C library is loaded before the sanitizer";
#endif
  TemporaryFolder folder;
  const std::string preloaded = std::string("LD_PRELOAD=") + RUNG_FAILING_CALLS, program = RUNG_WITH_FAULTS;
  const std::string run = program + " run -k cpu/matmul/naive -a n=8,9 -o " + folder.path().string() + kQuick;
  const Ended first = shell(preloaded + " RUNG_FAIL=rename:1 " + run);
  ASSERT_EQ(first.code, 4) << first.output;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
    if (entry.path().filename() == "journal.jsonl") {
      std::ofstream journal(entry.path(), std::ios::app);
      for (const char* text : {R"({})", R"({"points":3})", R"({"points":[{"point":"a"}]})",
                               R"({"points":[{"point":"a","entries":[{"gflops":"1"}]}]})"})
        journal << rung::checksum(text) << ' ' << text << '\n';
    }
  const Ended again = shell(preloaded + " " + run + " --resume");
  EXPECT_EQ(again.code, 0) << again.output;
  EXPECT_NE(again.output.find("4 lines of "), std::string::npos) << again.output;
  const json results = results_in(folder.path());
  EXPECT_EQ(results["context"]["points_done"], 2);
  EXPECT_EQ(results["benchmarks"].size(), 4u);
}

}  // namespace
