/// The program as users call it: its output, its exit codes, the files that it leaves.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>

#include "tests/temporary_folder.hpp"

namespace {

/// A shell's background jobs and their children ignore Ctrl-C; tests interrupt the programs that they start.
[[maybe_unused]] const auto ignored_before = signal(SIGINT, SIG_DFL);

using nlohmann::json;

struct Ended {
  int code;
  std::string output;
};

Ended rung(const std::string& arguments) {
  std::FILE* pipe = popen((std::string(RUNG_PROGRAM) + " " + arguments + " 2>&1").c_str(), "r");
  Ended ended{-1, ""};
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

/// The results files below a folder, by name.
std::vector<std::filesystem::path> files(const std::filesystem::path& folder, const std::string& name) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
    if (entry.path().filename() == name) found.push_back(entry.path());
  return found;
}

constexpr const char* kQuick = " --benchmark_repetitions=6 --benchmark_min_time=0.0001 ";

TEST(Program, CountsTheTextbooksRatios) {
  const auto ratio = [](const std::string& arguments) {
    const Ended ended = rung("count " + arguments + " --json");
    EXPECT_EQ(ended.code, 0) << ended.output;
    return ended.output;
  };
  EXPECT_NE(rung("count gpu/matmul/naive --n 64").output.find("0.25"), std::string::npos);
  EXPECT_NE(ratio("gpu/matmul/naive --n 64").find("0.25"), std::string::npos);
}

TEST(Program, MeasuresAndWritesResults) {
  TemporaryFolder folder;
  const Ended ended = rung("run -k 'cpu/matmul/*' -a n=33,40 -o " + folder.path().string() + kQuick);
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto found = files(folder.path(), "adhoc.json");
  ASSERT_EQ(found.size(), 1u);
  const json results = json::parse(file_text(found[0]));
  EXPECT_EQ(results["context"]["schema_version"], 2);
  EXPECT_EQ(results["context"]["complete"], true);
  EXPECT_GT(results["benchmarks"].size(), 20u);
  for (const json& entry : results["benchmarks"]) {
    if (entry.contains("skip_message")) {  // a library may be missing, or the CPU's matrix units
      if (entry["skip_message"].get<std::string>().starts_with("built without ")) continue;
      const json& kernel = results["context"]["kernels"][std::string(entry["kernel"])];
      EXPECT_TRUE(kernel["is_library"] == true || kernel["type"] == "bf16") << entry;
      continue;
    }
    EXPECT_EQ(entry["data"], "random");
    EXPECT_EQ(entry["sizes"]["m"], entry["sizes"]["n"]);
    EXPECT_GT(entry["gflops"], 0) << entry["name"];
    EXPECT_LE(entry["max_error_ratio"], 1);
    EXPECT_EQ(entry["repetitions"], 6);
    EXPECT_EQ(results["context"]["kernels"].count(entry["kernel"]), 1u);
  }
  EXPECT_TRUE(files(folder.path(), "journal.jsonl").empty());
}

TEST(Program, HonoursTheFlagsOfGoogleBenchmark) {
  TemporaryFolder folder;
  const std::string base = "run -k 'cpu/matmul/*' -a n=8,16 -o " + folder.path().string() + kQuick;
  EXPECT_EQ(rung(base + "--benchmark_list_tests --benchmark_filter=naive/n:8").output, "cpu/matmul/naive/n:8\n");
  EXPECT_EQ(rung(base + "--benchmark_list_tests --benchmark_filter=-n:16").output.find("n:16"), std::string::npos);
  EXPECT_EQ(rung(base + "--benchmark_filter='['").code, 2);
  EXPECT_EQ(rung(base + "--benchmark_filter=absent").code, 2);
  EXPECT_EQ(rung(base + "--benchmark_out_format=csv").code, 2);
  const auto copy = (folder / "copy.json").string();
  ASSERT_EQ(rung(base + "--benchmark_filter=naive/n:8 --benchmark_out=" + copy + " --benchmark_context=who=me").code,
            0);
  EXPECT_EQ(json::parse(file_text(copy))["context"]["who"], "me");
}

TEST(Program, TellsWrongUsageInOneLineWithCode2) {
  for (const char* arguments : {"",
                                "runn",
                                "run no_such_experiment",
                                "run -k cpu/matmul/nave -a n=4",
                                "run -k cpu/matmul/naive -a n=0",
                                "run -k cpu/matmul/naive -a n=99999999999",
                                "run -k cpu/matmul/naive -a nn=4",
                                "run -a n=4",
                                "run -k gpu/matmul/tiled -a n=64 -a tile=24",
                                "run --benchmark_repetitions=0",
                                "run --no-such-flag",
                                "count gpu/matmul/nave --n 8",
                                "count cpu/matmul/naive --n 8",
                                "count gpu/matmul/tiled --n 20",
                                "bound no_such_device",
                                "bound --type fp12",
                                "bound --ratio 4GB",
                                "occupancy --cc 99.9 --threads 128",
                                "occupancy",
                                "occupancy --threads 16y16",
                                "occupancy --threads 64 --shared 32KX",
                                "occupancy --threads 64 --plot a.svg",
                                "tile --tile 0",
                                "tile --type fp12",
                                "tile --side -1"}) {
    const Ended ended = rung(arguments);
    EXPECT_EQ(ended.code, 2) << arguments << ": " << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << arguments << ": " << ended.output;
  }
  EXPECT_NE(rung("run -k cpu/matmul/nave -a n=4").output.find("cpu/matmul/naive"), std::string::npos);
}

TEST(Program, TakesAmountsInUnitsAndEchoesThem) {
  for (const char* shared : {"32KiB", "32KB", "'32 kb'", "32768", "32768B"}) {
    const Ended ended = rung(std::string("occupancy --device A100 --threads 16x16 --shared ") + shared);
    EXPECT_EQ(ended.code, 0) << ended.output;
    EXPECT_NE(ended.output.find("32 KiB (32768 B)"), std::string::npos) << ended.output;
    EXPECT_NE(ended.output.find("256 threads"), std::string::npos) << ended.output;
  }
}

TEST(Program, CalculatorsPrintJson) {
  const json bound = json::parse(rung("bound A100 --type tf32 --json --ratio 4OP/B").output);
  EXPECT_EQ(bound[0]["peak_gflops"], 156000);
  EXPECT_EQ(bound[0]["bounds"][0]["gflops"], 6220);
  EXPECT_EQ(json::parse(rung("tile --device G80 --json").output)[0]["widest_tile"], 22);
  EXPECT_GT(json::parse(rung("occupancy --device list --json").output)["devices"].size(), 20u);
}

TEST(Program, PlotsOccupancy) {
  TemporaryFolder folder;
  const std::string file = (folder / "stairs.svg").string();
  ASSERT_EQ(rung("occupancy --device A100 --threads 256 --registers 40 --plot " + file).code, 0);
  const std::string svg = file_text(file);
  EXPECT_EQ(svg.find("<svg"), 0u);
  EXPECT_NE(svg.find("registers per thread"), std::string::npos);
  EXPECT_EQ(rung("occupancy --device A100 --threads 256 --plot /no/such/folder/a.svg").code, 4);
}

TEST(Program, SkipsWhatDoesNotFitIntoMemory) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the address sanitizer needs more address space than the test allows";
#endif
  TemporaryFolder folder;
  const std::string arguments = "run -k cpu/matmul/openblas -a n=32768 -o " + folder.path().string();
  const Ended ended =
      rung("'" + std::string("--help") + "' >/dev/null; ulimit -v 6000000; " + RUNG_PROGRAM + " " + arguments);
  EXPECT_EQ(ended.code == 0 || ended.code == 1, true) << ended.output;
  EXPECT_EQ(ended.output.find("terminate"), std::string::npos) << ended.output;
  EXPECT_EQ(files(folder.path(), "adhoc.json").size(), 1u);
}

/// The OpenBLAS code for this CPU that the results name.
json openblas_context_of_a_run() {
  TemporaryFolder folder;
  const Ended ended = rung("run -k cpu/matmul/openblas -a n=16 -o " + folder.path().string() + kQuick);
  EXPECT_EQ(ended.code, 0) << ended.output;
  return json::parse(file_text(files(folder.path(), "adhoc.json").at(0)))["context"];
}

TEST(Program, GivesOpenBlasTheCodeForThisCpuUnlessTold) {
  unsetenv("OPENBLAS_CORETYPE");
  const json context = openblas_context_of_a_run();
  if (context["cpu_simd"] != "AVX2" && context["cpu_simd"] != "AVX-512") GTEST_SKIP() << "this CPU has no AVX2";
  if (!context.contains("blas_core")) GTEST_SKIP() << "built without OpenBLAS";
  for (const char* core : {"Prescott", "Core2", "Nehalem"}) EXPECT_NE(context["blas_core"], core);
  setenv("OPENBLAS_CORETYPE", "Nehalem", 1);
  EXPECT_EQ(openblas_context_of_a_run()["blas_core"], "Nehalem");
  unsetenv("OPENBLAS_CORETYPE");
}

TEST(Program, CannotWriteIsCode4) {
  TemporaryFolder folder;
  folder.write("file", "");
  const Ended ended = rung("run -k cpu/matmul/naive -a n=8 -o " + (folder / "file").string() + kQuick);
  EXPECT_EQ(ended.code, 4) << ended.output;
}

TEST(Program, WithoutAGpuItSkipsUnlessOneIsRequired) {
  TemporaryFolder folder;
  const std::string run = "run -k gpu/matmul/naive -a n=64 -o " + folder.path().string() + kQuick;
  const Ended hidden = rung(run + "; true");
  const std::string environment = "CUDA_VISIBLE_DEVICES= ";
  std::FILE* pipe = popen((environment + RUNG_PROGRAM + " " + run + "--require-gpu 2>&1").c_str(), "r");
  char buffer[1024];
  std::string output;
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) output.append(buffer, n);
  EXPECT_EQ(WEXITSTATUS(pclose(pipe)), 3) << output;
  EXPECT_EQ(std::count(output.begin(), output.end(), '\n'), 1) << output;
  EXPECT_EQ(hidden.code, 0) << hidden.output;
}

/// Runs the program until it has printed `wanted`, sends Ctrl-C, and lets it end.
Ended interrupted(const std::vector<std::string>& arguments, const std::string& wanted) {
  int output[2];
  EXPECT_EQ(pipe(output), 0);
  const pid_t child = fork();
  if (child == 0) {
    dup2(output[1], 1);
    std::vector<char*> argv{const_cast<char*>(RUNG_PROGRAM)};
    for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
    argv.push_back(nullptr);
    execv(RUNG_PROGRAM, argv.data());
    _exit(127);
  }
  close(output[1]);
  std::string seen;
  char byte;
  while (seen.find(wanted) == std::string::npos && read(output[0], &byte, 1) == 1) seen += byte;
  kill(child, SIGINT);
  while (read(output[0], &byte, 1) == 1) seen += byte;
  close(output[0]);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, seen};
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += word + " ";
  return text;
}

std::set<std::string> names_in(const json& results) {
  std::set<std::string> names;
  for (const json& entry : results["benchmarks"]) names.insert(entry["name"].get<std::string>());
  return names;
}

TEST(Program, KeepsWhatIsDoneOnCtrlCAndResumes) {
  TemporaryFolder folder;
  const std::vector<std::string> arguments{"run",
                                           "-k",
                                           "cpu/matmul/naive",
                                           "-a",
                                           "n=60,61,62,63,64,65,66,67",
                                           "-o",
                                           folder.path().string(),
                                           "--benchmark_repetitions=40",
                                           "--benchmark_min_time=0.01"};
  const Ended ended = interrupted(arguments, "2/8");
  EXPECT_EQ(ended.code, 130) << ended.output;
  EXPECT_NE(ended.output.find("--resume"), std::string::npos) << ended.output;
  const auto partial = files(folder.path(), "adhoc.json");
  ASSERT_EQ(partial.size(), 1u);
  const json first = json::parse(file_text(partial[0]));
  EXPECT_EQ(first["context"]["complete"], false);
  EXPECT_GE(first["context"]["points_done"], 2);
  EXPECT_LT(first["context"]["points_done"], 8);

  const std::string again = joined(arguments);
  EXPECT_EQ(rung(again + "--resume --seed 2").code, 2) << "another seed is another run";
  ASSERT_EQ(rung(again + "--resume").code, 0);
  const json whole = json::parse(file_text(partial[0]));
  EXPECT_EQ(whole["context"]["complete"], true);
  EXPECT_EQ(whole["benchmarks"].size(), 8u * 40u);
  EXPECT_EQ(names_in(whole).size(), 8u);
  EXPECT_EQ(whole["context"]["date"], first["context"]["date"]);
}

TEST(Program, LosesTheGroupInFlightAloneAndResumesByGroups) {
  TemporaryFolder folder;
  const std::vector<std::string> arguments{"run",
                                           "-k",
                                           "cpu/matmul/naive",
                                           "cpu/matmul/interchanged",
                                           "-a",
                                           "n=60,61,62,63",
                                           "-a",
                                           "interleave=true",
                                           "-o",
                                           folder.path().string(),
                                           "--benchmark_repetitions=30",
                                           "--benchmark_min_time=0.01"};
  const Ended ended = interrupted(arguments, "2/8");
  EXPECT_EQ(ended.code, 130) << ended.output;
  const auto partial = files(folder.path(), "adhoc.json");
  ASSERT_EQ(partial.size(), 1u);
  const json first = json::parse(file_text(partial[0]));
  EXPECT_EQ(first["context"]["complete"], false);
  EXPECT_GE(first["context"]["points_done"], 2);
  EXPECT_LT(first["context"]["points_done"], 8);
  EXPECT_EQ(first["context"]["points_done"].get<int>() % 2, 0) << "whole groups";
  EXPECT_EQ(rung(joined(arguments) + "-a interleave=false --resume").code, 2) << "another way of measuring";
  ASSERT_EQ(rung(joined(arguments) + "--resume").code, 0);
  const json whole = json::parse(file_text(partial[0]));
  EXPECT_EQ(whole["context"]["complete"], true);
  EXPECT_EQ(whole["context"]["points_done"], 8);
  EXPECT_EQ(whole["benchmarks"].size(), 8u * 30u);
  EXPECT_EQ(names_in(whole).size(), 8u);
  for (const json& entry : whole["benchmarks"]) EXPECT_EQ(entry["interleaved_with"], 1) << entry["name"];
}

TEST(Program, RecordsHowTurnsWereTaken) {
  TemporaryFolder folder;
  const std::string run =
      "run -k cpu/matmul/naive cpu/matmul/interchanged -a n=16 -o " + folder.path().string() + kQuick;
  ASSERT_EQ(rung(run + "-a interleave=true -a warm_up=0.01 -a ratio_within=0.5").code, 0);
  ASSERT_EQ(rung(run + "-a warm_up=0.01").code, 0);
  const auto made = files(folder.path(), "adhoc.json");
  ASSERT_EQ(made.size(), 2u);
  int turns = 0, others = 0;
  for (const auto& file : made) {
    const json results = json::parse(file_text(file));
    for (const json& entry : results["benchmarks"])
      if (entry.contains("interleaved_with")) {
        ++turns;
        EXPECT_EQ(entry["warm_up_seconds"], 0.01);
        EXPECT_EQ(entry["ratio_within"], 0.5);
      } else {
        ++others;
        EXPECT_FALSE(entry.contains("warm_up_seconds"));
        EXPECT_FALSE(entry.contains("ratio_within"));
      }
  }
  EXPECT_GT(turns, 0);
  EXPECT_GT(others, 0);
}

/// The roof of scalar instructions, for a kernel with vectors: a rate above all its bounds is invalid.
TEST(Program, RefusesWhatStaysAboveItsRoof) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "a sanitized kernel may be slower than the roof";
#endif
  TemporaryFolder folder;
  const std::filesystem::path study = folder.path() / "low.toml";
  std::ofstream(study) << R"(title = "A roof that is too low"
question = "Is it refused?"
[[sweep]]
role = "roofs"
kernels = ["cpu/fma/scalar"]
threads = [1]
[[sweep]]
kernels = ["cpu/matmul/fused", "cpu/matmul/naive"]
n = [256]
threads = [1]
)";
  const Ended ended = rung("run " + study.string() + " -o " + folder.path().string() + kQuick);
  EXPECT_EQ(ended.code, 1) << ended.output;
  EXPECT_NE(ended.output.find("times as fast as its roof: measuring both again"), std::string::npos) << ended.output;
  const json results = json::parse(file_text(files(folder.path(), "low.json").at(0)));
  for (const json& entry : results["benchmarks"]) {
    const bool is_fused = entry["kernel"] == "cpu/matmul/fused";
    EXPECT_EQ(entry.contains("gflops"), !is_fused) << entry;
    const std::string message = entry.value("error_message", "");
    EXPECT_EQ(message.find("times its roof") != std::string::npos, is_fused) << entry;
  }
}

TEST(Program, SaysThatThreadsAreMoreThanProcessors) {
  TemporaryFolder folder;
  const std::string run = "run -k cpu/matmul/naive -a n=16 -o " + folder.path().string() + kQuick;
  const Ended many = rung(run + "-a threads=1,1000");
  ASSERT_EQ(many.code, 0) << many.output;
  EXPECT_NE(many.output.find("more threads than the"), std::string::npos) << many.output;
  const json results = json::parse(file_text(files(folder.path(), "adhoc.json").at(0)));
  for (const json& entry : results["benchmarks"]) EXPECT_EQ(entry["threads"] == 1000, entry.contains("oversubscribed"));
  EXPECT_EQ(names_in(results),
            (std::set<std::string>{"cpu/matmul/naive/n:16/threads:1", "cpu/matmul/naive/n:16/threads:1000"}));
  EXPECT_EQ(rung(run + "-a threads=1").output.find("more threads than the"), std::string::npos);
}

TEST(Program, ListsEveryKernelWithItsSource) {
  const Ended ended = rung("list --json");
  ASSERT_EQ(ended.code, 0);
  for (const json& kernel : json::parse(ended.output)) EXPECT_FALSE(kernel["source"].get<std::string>().empty());
  EXPECT_EQ(rung("list").code, 0);
}

TEST(Program, ListsWhatTheSourcesTeach) {
  const Ended ended = rung("list --rows --json");
  ASSERT_EQ(ended.code, 0) << ended.output;
  std::set<std::string> ids;
  for (const json& row : json::parse(ended.output)) {
    ids.insert(row["id"]);
    EXPECT_TRUE(!row["experiments"].empty() || row["command"] != "" || row["id"] == "A16") << row["id"];
  }
  EXPECT_EQ(ids.size(), 16u + 7u + 25u);
  EXPECT_EQ(rung("list --rows").code, 0);
}

}  // namespace
