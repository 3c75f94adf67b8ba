/// Known tricks to fool a benchmark, each planted into an honest kernel: none gets a rate.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include "common/harness/experiment.hpp"
#include "common/harness/point_runner.hpp"
#include "common/problem/trust.hpp"
#include "common/source_dir.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

using Run = std::function<void(const Call&)>;
using Clock = std::chrono::steady_clock;

const Kernel& honest() { return find_kernel("cpu/matmul/naive"); }

/// The error of a point whose kernel is `run`; empty if it has rates.
std::string error_of(PointRunner& runner, Run run, const Problem* problem = nullptr, const char* size = "n=64") {
  Kernel kernel = honest();
  kernel.run = std::move(run);
  Point point = adhoc_experiment({kernel.name}, {size}).points.at(0);
  point.kernel = &kernel;
  if (problem) {
    point.problem = problem;
    point.data = &problem->timed_data();
  }
  const Json entry = runner.run({&point}).at(0).entries.front();
  EXPECT_EQ(entry.contains("error_message"), !entry.contains("gflops"));
  return entry.value("error_message", "");
}

std::string error_of(Run run, const Problem* problem = nullptr, const char* size = "n=64") {
  PointRunner runner(0, 1, {.repetitions = 3, .min_seconds = 1e-3});
  return error_of(runner, std::move(run), problem, size);
}

std::size_t elements(const Call& call, std::size_t operand) {
  return problem_of(honest()).operands(call.params).at(operand).elements;
}

std::vector<float> contents(const Call& call, std::size_t operand) {
  const float* begin = call.operand<const float>(operand);
  return {begin, begin + elements(call, operand)};
}

void put(const std::vector<float>& values, const Call& call) {
  std::copy(values.begin(), values.end(), call.operand<float>(2));
}

TEST(Cheats, AnHonestKernelHasRates) { EXPECT_EQ(error_of(honest().run), ""); }

TEST(Cheats, WorkOnAnotherThreadAfterTheReturn) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the planted fault uses memory that is free by then, which the address sanitizer finds first";
#endif
  std::vector<std::thread> threads;
  const std::string error = error_of([&](const Call& call) {
    threads.emplace_back([call] {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      honest().run(call);
    });
  });
  for (std::thread& thread : threads) thread.join();
  EXPECT_NE(error.find("wrong result"), std::string::npos) << error;  // a busy machine may find it later
}

/// The result is right when it is judged, since the judge is slower than the thread; on a busy machine not always.
TEST(Cheats, WorkOnAnotherThreadThatTheJudgeDoesNotOvertake) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the planted fault uses memory that is free by then, which the address sanitizer finds first";
#endif
  std::string error;
  for (int attempt = 0; attempt < 20 && error.find("after it had returned") == std::string::npos; ++attempt) {
    std::vector<std::thread> threads;
    error = error_of([&](const Call& call) {
      honest().run(call);
      threads.emplace_back([call] {
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        honest().run(call);
      });
    });
    for (std::thread& thread : threads) thread.join();
  }
  EXPECT_NE(error.find("after it had returned"), std::string::npos) << error;
}

TEST(Cheats, AResultKeptForThePointer) {
  std::map<const void*, std::vector<float>> kept;
  const std::string error = error_of([&](const Call& call) {
    const auto found = kept.find(call.operands[0]);
    if (found != kept.end()) return put(found->second, call);
    honest().run(call);
    kept[call.operands[0]] = contents(call, 2);
  });
  EXPECT_NE(error.find("wrong result"), std::string::npos) << error;
}

TEST(Cheats, AResultKeptForThePointerOnceItIsTimed) {
  std::vector<float> kept;
  int calls = 0;
  const std::string error = error_of([&](const Call& call) {
    if (++calls > 5 && !kept.empty()) return put(kept, call);
    honest().run(call);
    kept = contents(call, 2);
  });
  EXPECT_NE(error.find("wrong result after timing"), std::string::npos) << error;
}

TEST(Cheats, TheOutputLeftFromBefore) {
  int calls = 0;
  const std::string error = error_of([&](const Call& call) {
    if (++calls <= 2) honest().run(call);  // the two that are judged
  });
  EXPECT_NE(error.find("wrong result after timing"), std::string::npos) << error;
}

TEST(Cheats, SkippingWorkWhenInputsRepeat) {
  std::vector<float> before;
  const std::string error = error_of([&](const Call& call) {
    if (before == contents(call, 0)) return;
    honest().run(call);
    before = contents(call, 0);
  });
  // Marks see it, or the times of audited runs: whichever comes first.
  const bool is_seen = error.find("wrong result while it was timed") != std::string::npos ||
                       error.find("does not do its work again") != std::string::npos;
  EXPECT_TRUE(is_seen) << error;
}

/// The judge of a sine uses its formula, so that audited runs with other inputs are not judged by it.
TEST(Cheats, AnHonestKernelOnInputsWithAFormula) {
  const auto points =
      adhoc_experiment({"cpu/heat/temporal"}, {"n=15", "steps=50", "permille=250", "data=sine", "samples=8"}).points;
  for (int i = 0; i < 10; ++i)
    for (const auto& [point, entries] : PointRunner(0, 1, {}).run({&points.at(0)}))
      EXPECT_FALSE(entries.front().contains("error_message")) << entries.front();
}

/// Works in the first of several calls in quick succession, so that the result after timed runs is right.
TEST(Cheats, WorkThatDependsOnTheTimeBetweenCalls) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "with sanitizers the harness leaves more than 50 us between two calls";
#endif
  Clock::time_point ended{};
  const std::string error = error_of([&](const Call& call) {
    if (Clock::now() - ended > std::chrono::microseconds(50)) honest().run(call);
    ended = Clock::now();
  });
  EXPECT_NE(error.find("did not overwrite C"), std::string::npos) << error;
}

TEST(Cheats, ChangingTheInputs) {
  int calls = 0;
  const std::string error = error_of([&](const Call& call) {
    honest().run(call);
    if (++calls > 5) call.operand<float>(0)[7] = 0;
  });
  EXPECT_NE(error.find("wrong result after timing"), std::string::npos) << error;
}

float rounded(float value, int bits_lost) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, 4);
  bits = (bits + (1u << (bits_lost - 1))) & ~((1u << bits_lost) - 1);
  std::memcpy(&value, &bits, 4);
  return value;
}

/// The product of operands rounded to a shorter significand: of bfloat16, of TF32 and half precision.
TEST(Cheats, LowerPrecision) {
  for (const int bits_lost : {16, 13})
    for (const char* size : {"n=1", "n=64", "n=256"}) {
      const std::string error = error_of(
          [&](const Call& call) {
            std::vector<float> a = contents(call, 0), b = contents(call, 1);
            for (auto* side : {&a, &b})
              for (float& value : *side) value = rounded(value, bits_lost);
            Call other = call;
            other.operands[0] = a.data();
            other.operands[1] = b.data();
            honest().run(other);
          },
          nullptr, size);
      EXPECT_NE(error.find("wrong result before timing, on the data set 'random'"), std::string::npos)
          << bits_lost << " " << size << ": " << error;
    }
}

/// A problem that leaks the results of its reference, by the first input.
struct Leaking {
  std::map<std::vector<float>, std::vector<float>> answers;
  Problem problem = problem_of(honest());

  Leaking() {
    const auto reference = problem.reference;
    problem.reference = [this, reference](const Params& sizes, const DataSet& data, std::uint64_t seed,
                                          std::span<const void* const> host) {
      Call call{.params = sizes};
      for (const void* operand : host) call.operands.push_back(const_cast<void*>(operand));
      std::vector<float> answer(elements(call, 2));
      call.operands[2] = answer.data();
      honest().run(call);
      answers[contents(call, 0)] = answer;
      return reference(sizes, data, seed, host);
    };
  }
};

TEST(Cheats, CopyingTheReference) {
  Leaking leak;
  const std::string error = error_of(
      [&](const Call& call) {
        if (!leak.answers.empty()) put(leak.answers.rbegin()->second, call);
      },
      &leak.problem);
  EXPECT_NE(error.find("wrong result before timing"), std::string::npos) << error;
}

/// The leaked answers are for inputs on which an honest kernel was judged before; there are none for fresh inputs.
TEST(Cheats, ReadingTheOracle) {
  Leaking leak;
  PointRunner runner(0, 1, {.repetitions = 3, .min_seconds = 1e-3});
  ASSERT_EQ(error_of(runner, honest().run, &leak.problem), "");
  ASSERT_GE(leak.answers.size(), 2u);
  const std::string error = error_of(
      runner,
      [&](const Call& call) {
        const auto found = leak.answers.find(contents(call, 0));
        if (found != leak.answers.end()) put(found->second, call);
      },
      &leak.problem);
  EXPECT_NE(error.find("wrong result while it was timed"), std::string::npos) << error;
}

/// The library that a kernel's file, or a header of a kernel's folder that it includes, names outside of comments.
std::string library_of(const std::filesystem::path& file, std::set<std::filesystem::path>& seen) {
  constexpr const char* kLibraries[] = {"cblas",    "Eigen/",   "dnnl",     "onednn::", "cpu/onednn.hpp",
                                        "openblas", "mkl_",     "cub/",     "cub::",    "cub.hpp",
                                        "cublas",   "cusolver", "cutlass/", "thrust",   "hwy/contrib"};
  if (!seen.insert(file).second) return "";
  std::istringstream lines(file_text(file));
  for (std::string line; std::getline(lines, line);) {
    line = line.substr(0, line.find("//"));
    for (const char* library : kLibraries)
      if (line.find(library) != std::string::npos) return library;
    if (!line.starts_with("#include \"cpu/") && !line.starts_with("#include \"gpu/")) continue;
    const std::string header = line.substr(10, line.rfind('"') - 10);
    if (header.starts_with("gpu/simt/")) continue;  // the language of kernels
    if (const std::string nested = library_of(source_dir() / header, seen); !nested.empty()) return nested;
  }
  return "";
}

std::string library_of(const std::filesystem::path& file) {
  std::set<std::filesystem::path> seen;
  return library_of(file, seen);
}

std::filesystem::path file_of(const Kernel& kernel) {
  for (const char* ending : {".cpp", ".cu", ".sm90a.cu", ".baseline.cpp", ".sm90a.O1.cu"})
    if (const auto file = source_dir() / (kernel.name + ending); exists(file)) return file;
  return {};
}

/// A row of the table in tests/cheats/README.md.
struct Row {
  std::string name, size, outcome;
};

std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells;
  std::istringstream row(line);
  for (std::string cell; std::getline(row, cell, '|');)
    cells.push_back(cell.size() > 2 ? cell.substr(1, cell.size() - 2) : "");
  return cells;
}

std::vector<Row> table() {
  std::vector<Row> rows;
  std::istringstream lines(file_text(source_dir() / "tests/cheats/README.md"));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() == 5 && cells[2].find_first_not_of("0123456789") == std::string::npos)
      rows.push_back({cells[1], cells[2], cells[4]});
  }
  return rows;
}

/// The results file of a run of `program` in this folder, or its output if there is none.
std::pair<Json, std::string> run_in(const TemporaryFolder& folder, const std::string& program,
                                    const std::string& arguments) {
  const auto out = folder.path() / "out", printed = folder.path() / "printed";
  const std::string command = program + " " + arguments + " -o '" + out.string() + "' >'" + printed.string() + "' 2>&1";
  EXPECT_NE(std::system(command.c_str()), -1);
  std::error_code none;
  for (const auto& file : std::filesystem::recursive_directory_iterator(out, none))
    if (file.path().extension() == ".json" && !file.path().filename().string().starts_with("ceilings"))
      return {Json::parse(file_text(file.path()), nullptr, false), ""};
  return {nullptr, file_text(printed)};
}

/// `told`: outcomes, or parts of them, with " or " between them.
bool is_one_of(const std::string& outcome, const std::string& told) {
  for (std::size_t at = 0, end; at < told.size(); at = end + 4) {
    end = std::min(told.find(" or ", at), told.size());
    const std::string words = told.substr(at, end - at);
    if (words == "a rate" ? outcome == words : outcome.find(words) != std::string::npos) return true;
  }
  return false;
}

/// Rows of the table of other problems: kernel, sizes and outcome.
std::vector<Row> other_table() {
  std::vector<Row> rows;
  std::istringstream lines(file_text(source_dir() / "tests/cheats/README.md"));
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells.size() == 5 && cells[1].find("/cheat_") != std::string::npos)
      rows.push_back({cells[1], cells[2], cells[4]});
  }
  return rows;
}

TEST(Cheats, EachRowOfOtherProblems) {
  const std::vector<Row> rows = other_table();
  EXPECT_GE(rows.size(), 4u);
  for (const Row& row : rows) {
    const TemporaryFolder folder;
    std::string arguments = "run -k cpu/" + row.name + " --benchmark_repetitions=8";
    std::istringstream sizes(row.size);
    for (std::string size; sizes >> size;) arguments += " -a " + size;
    const auto [results, printed] = run_in(folder, "'" RUNG_WITH_CHEATS "'", arguments);
    ASSERT_TRUE(results.is_object()) << row.name << ": " << printed;
    const std::string outcome = results["benchmarks"].front().value("error_message", "a rate");
    EXPECT_TRUE(is_one_of(outcome, row.outcome)) << row.name << " gives '" << outcome << "'";
  }
}

/// The outcome of a planted kernel: "a rate", with a word if its time does not give that rate, or why there is none.
std::string outcome_of(const Row& row) {
  const TemporaryFolder folder;
  const bool is_preloaded = row.name == "preload";
  const auto [results, printed] =
      run_in(folder, is_preloaded ? "LD_PRELOAD='" RUNG_SLOW_CLOCK "' '" RUNG_PROGRAM "'" : "'" RUNG_WITH_CHEATS "'",
             "run -k cpu/matmul/" + (is_preloaded ? "interchanged" : "cheat_" + row.name) + " -a n=" + row.size +
                 " -a threads=1 --benchmark_repetitions=5");
  if (!results.is_object()) return printed;
  const Json& entry = results["benchmarks"].front();
  if (!entry.contains("gflops")) return entry.value("error_message", entry.value("skip_message", "no rate"));
  const double of_time = entry["flops_useful"].get<double>() / entry["real_time"].get<double>();
  return std::abs(entry["gflops"].get<double>() / of_time - 1) < 1e-6 ? "a rate" : "a rate that was forged";
}

constexpr const char* kOfThree = ", in one of three runs at least";

/// Runs alone: another thread has to get a processor in time.
TEST(HotPath, CheatsThatWorkAfterAPauseAreFound) {
  for (const Row& row : table()) {
    if (!row.outcome.ends_with(kOfThree)) continue;
    const std::string told = row.outcome.substr(0, row.outcome.size() - std::strlen(kOfThree));
    std::string outcome;
    for (int tries = 3; tries > 0 && !is_one_of(outcome, told); --tries) outcome = outcome_of(row);
    EXPECT_TRUE(is_one_of(outcome, told)) << row.name << " gives '" << outcome << "'";
  }
}

TEST(Cheats, EachRowOfTheTable) {
  std::set<std::string> named{"cpu/matmul/cheat_preload", "cpu/matmul/cheat_in_out"};
  for (const Row& row : table()) {
    named.insert("cpu/matmul/cheat_" + row.name);
    if (row.outcome.ends_with(kOfThree)) continue;  // above
    const std::string outcome = outcome_of(row);
    EXPECT_TRUE(is_one_of(outcome, row.outcome))
        << row.name << " gives '" << outcome << "', not '" << row.outcome << "'";
  }
  EXPECT_GT(named.size(), 34u);
  std::istringstream planted(file_text(source_dir() / "tests/cheats/kernels.cpp"));
  for (std::string line; std::getline(planted, line);)
    if (const std::size_t at = line.find("plant(\""); at != std::string::npos) {
      const std::string name = line.substr(at + 7, line.find('"', at + 7) - at - 7);
      EXPECT_TRUE(named.contains("cpu/matmul/cheat_" + name)) << name << " is in no row of the table";
    }
}

/// Otherwise a result that is kept by the contents of the inputs would not be detected.
TEST(Cheats, AuditsCanChangeTheInputsOfEveryProblem) {
  std::set<std::string> unchanged;
  for (const Kernel& kernel : kernels()) {
    const Problem& problem = problem_of(kernel);
    const std::vector<Operand> operands = problem.operands(problem.complete(problem.test_sizes.front()));
    const bool has_numbers = std::any_of(operands.begin(), operands.end(), [](const Operand& one) {
      return one.is_input() && one.type != Type::int32 && one.type != Type::uint32;
    });
    if (kernel.side() == "cpu" && !has_numbers && !redraw_of(problem)) unchanged.insert(problem.family);
  }
  EXPECT_EQ(unchanged, (std::set<std::string>{"chase", "math_error"})) << "the latter has no inputs";
}

TEST(Cheats, ALibraryInAnOwnRung) {
  int own = 0, libraries = 0;
  for (const Kernel& kernel : kernels()) {
    const std::filesystem::path file = file_of(kernel);
    if (file.empty()) continue;  // one of several in a file
    const bool is_of_the_language = kernel.name.starts_with("cpu/math/libm") ||
                                    kernel.name == "gpu/transfer/pageable" || kernel.name == "gpu/transfer/pinned";
    EXPECT_EQ(library_of(file) != "" || is_of_the_language, kernel.is_library)
        << kernel.name << ": " << library_of(file);
    ++(kernel.is_library ? libraries : own);
  }
  EXPECT_GT(own, 50);
  EXPECT_GT(libraries, 3);
  TemporaryFolder folder;
  EXPECT_EQ(library_of(folder.write("own.cpp", "void f() { cblas_sgemm(); }  // a rung\n")), "cblas");
  EXPECT_EQ(library_of(folder.write("own.cu", "// as <cub/cub.cuh> does\nvoid f();\n")), "");
}

}  // namespace
}  // namespace rung
