/// `rung count --lines` and --caches: the sums for a line, the best possible values of a line, and how they are shown.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>

#include "common/program/command_count.hpp"
#include "tests/emulator/emulator_support.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

bool can_name_lines() {
#ifdef __clang__
  return false;  // some of its accesses have the lines of the emulator's functions, not of the kernel that calls them
#else
  return std::system("addr2line --version >/dev/null 2>&1") == 0;
#endif
}

// ---- Lines of a kernel ----

constexpr int kFirst = __LINE__;
__global__ void transposed_sum(const mem<float>* from, mem<float>* to) {
  __shared__ mem<float> tile[32 * 32];
  const int i = threadIdx.x;
  for (int k = 0; k < 32; ++k) tile[i * 32 + k] = from[k * 32 + i];
  __syncthreads();
  reg<float> sum = 0;
  for (int k = 0; k < 32; ++k) sum += tile[k * 32 + i] * 2.0f;
  to[i * 8] = sum;
}

TEST(CountLines, EachLineHasItsOwnAccessesAndItsText) {
  if (!can_name_lines()) GTEST_SKIP() << "there is no addr2line, or clang compiled the kernel";
  Array<float> from(1024), to(256);
  const auto lines = counts_by_line(
      counted(kOneWarp, EmulatorOptions{.lines = true}, transposed_sum, from.on_device(), to.on_device()));
  ASSERT_EQ(lines.size(), 3u);
  const auto is = [&](std::size_t line, int number, std::size_t access, const char* kind, std::uint64_t requests,
                      std::uint64_t transactions, std::uint64_t at_best) {
    EXPECT_EQ(lines[line].file, "tests/common/program/count_lines_test.cpp");
    EXPECT_EQ(lines[line].line, kFirst + number);
    ASSERT_GT(lines[line].accesses.size(), access);
    const LineAccess& a = lines[line].accesses[access];
    EXPECT_EQ(a.kind, kind);
    EXPECT_EQ(a.requests, requests);
    EXPECT_EQ(a.accesses, 32 * requests);
    EXPECT_EQ(a.lanes(), 32);
    EXPECT_EQ(a.bytes, 128 * requests);
    EXPECT_EQ(a.transactions, transactions);
    EXPECT_EQ(a.at_best, at_best);
  };
  is(0, 4, 0, "global load", 32, 128, 128);
  is(0, 4, 1, "shared store", 32, 1024, 32);  // 32-way conflicts
  is(1, 7, 0, "shared load", 32, 32, 32);
  is(2, 8, 0, "global store", 1, 32, 4);
  EXPECT_EQ(lines[2].text, "to[i * 8] = sum;");
  EXPECT_EQ(lines[1].fp32.fmas, 1024u);
  EXPECT_EQ(lines[1].fp32.flops(), 2048u);
  EXPECT_EQ(lines[0].fp32.flops() + lines[2].fp32.flops() + lines[1].fp64.flops(), 0u);
}

// ---- What is made of one site ----

/// The counts of one site that is at no known line.
LineAccess only_access(const SiteCounts& site) {
  Counts counts;
  counts.sites = {site};
  const auto lines = counts_by_line(counts);
  EXPECT_EQ(lines.size(), 1u);
  EXPECT_EQ(lines[0].file, "");
  EXPECT_EQ(lines[0].text, "");
  EXPECT_EQ(lines[0].accesses.size(), 1u);
  return lines[0].accesses[0];
}

TEST(CountLines, KindsAndUnits) {
  const auto kind = [](const SiteCounts& site) {
    const LineAccess access = only_access(site);
    return access.kind + ", " + access.unit;
  };
  EXPECT_EQ(kind({.bytes = 4}), "global load, sectors");
  EXPECT_EQ(kind({.bytes = 4, .is_store = true}), "global store, sectors");
  EXPECT_EQ(kind({.bytes = 4, .is_atomic = true}), "global atomic, sectors");
  EXPECT_EQ(kind({.bytes = 4, .is_store = true, .is_atomic = true}), "global atomic, sectors");
  EXPECT_EQ(kind({.bytes = 4, .is_shared = true}), "shared load, wavefronts");
  EXPECT_EQ(kind({.bytes = 4, .is_store = true, .is_shared = true, .is_async = true}),
            "async shared store, wavefronts");
  EXPECT_EQ(kind({.bytes = 4, .is_constant = true}), "constant load, words");
}

TEST(CountLines, TheBestAccessHasNeighbouringElements) {
  const auto best = [](SiteCounts site, unsigned bytes, std::uint64_t requests, std::uint64_t accesses) {
    site.bytes = bytes;
    site.requests = requests;
    site.accesses = accesses;
    site.transactions = 1000000;
    return only_access(site).at_best;
  };
  const SiteCounts global, shared{.is_shared = true}, constant{.is_constant = true};
  EXPECT_EQ(best(global, 4, 1, 32), 4u);
  EXPECT_EQ(best(global, 4, 1, 1), 1u);
  EXPECT_EQ(best(global, 4, 1, 8), 1u);
  EXPECT_EQ(best(global, 4, 1, 9), 2u);
  EXPECT_EQ(best(global, 16, 10, 320), 160u);
  EXPECT_EQ(best(global, 1, 10, 320), 10u);
  EXPECT_EQ(best(global, 4, 2, 33), 6u);  // on average 16.5 lanes, which need three sectors
  for (const unsigned bytes : {1u, 2u, 4u, 8u, 16u})
    EXPECT_EQ(best(shared, bytes, 7, 224), 7 * std::max(1u, bytes / 4));
  EXPECT_EQ(best(shared, 8, 7, 7), 7u);
  EXPECT_EQ(best(constant, 4, 7, 224), 7u);
  EXPECT_EQ(best(constant, 8, 7, 224), 14u);
  EXPECT_EQ(best(global, 4, 0, 0), 0u);
}

TEST(CountLines, WhatWasIsNeverBetterThanTheBest) {
  const LineAccess broadcast = only_access({.bytes = 4, .requests = 10, .accesses = 320, .transactions = 10});
  EXPECT_EQ(broadcast.at_best, 10u);
  EXPECT_EQ(broadcast.per_request(), 1);
  const LineAccess never = only_access({.bytes = 4});
  EXPECT_EQ(never.lanes() + never.per_request() + never.best_per_request(), 0);
}

TEST(CountLines, SitesOfOneLineAndKindAreAddedUp) {
  Counts counts;
  const SiteCounts site{.bytes = 4, .requests = 1, .accesses = 32, .divergent = 1, .transactions = 4};
  counts.sites = {site, site, site};
  counts.sites[1].address = 1;
  counts.sites[2].bytes = 8;
  counts.operation_sites = {{0, {.adds = 1}, {.fmas = 2}}, {1, {.adds = 10}, {}}};
  const auto lines = counts_by_line(counts);
  ASSERT_EQ(lines.size(), 1u);
  ASSERT_EQ(lines[0].accesses.size(), 1u);
  EXPECT_EQ(lines[0].accesses[0].bytes, 512u);
  EXPECT_EQ(lines[0].accesses[0].requests, 3u);
  EXPECT_EQ(lines[0].accesses[0].divergent, 3u);
  EXPECT_EQ(lines[0].accesses[0].at_best, 12u);
  EXPECT_EQ(lines[0].fp32.adds, 11u);
  EXPECT_EQ(lines[0].fp64.fmas, 2u);
  EXPECT_TRUE(counts_by_line({}).empty());
}

TEST(CountLines, LoadsComeBeforeStores) {
  Counts counts;
  counts.sites = {{.bytes = 4, .is_store = true}, {.bytes = 4, .is_shared = true}};
  const auto lines = counts_by_line(counts);
  ASSERT_EQ(lines[0].accesses.size(), 2u);
  EXPECT_EQ(lines[0].accesses[0].kind, "shared load");
  EXPECT_EQ(lines[0].accesses[1].kind, "global store");
}

/// The lines of two sites, if addr2line places the second one at `place` and the first is unknown.
std::vector<LineCounts> lines_at(const std::string& place) {
  static std::uintptr_t used = 0;
  TemporaryFolder folder;
  const auto tool = folder.write("addr2line", "#!/bin/sh\nprintf '0x1\\n??:0\\n0x2\\n" + place + "\\n'\n");
  chmod(tool.c_str(), 0700);
  const std::string before = getenv("PATH");
  setenv("PATH", folder.path().c_str(), 1);
  Counts counts;
  counts.sites.resize(2);
  for (SiteCounts& site : counts.sites)  // places that no other test uses
    site.address = reinterpret_cast<std::uintptr_t>(&transposed_sum) + 10000 + ++used;
  const auto lines = counts_by_line(counts);
  setenv("PATH", before.c_str(), 1);
  return lines;
}

TEST(CountLines, TextsAreTrimmedAndHarmless) {
  TemporaryFolder folder;
  const std::string file = folder.write("k.cu", "\n\t sum += \033[2Jb;\t \r\n \n");
  const auto lines = lines_at(file + ":2");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].file, file);  // the unknown one comes last
  EXPECT_EQ(lines[0].line, 2);
  EXPECT_EQ(lines[0].text, "sum +=  [2Jb;");
  EXPECT_EQ(lines[1].file, "");
  EXPECT_EQ(lines_at(file + ":1")[0].text, "");
  EXPECT_EQ(lines_at(file + ":3")[0].text, "");
  EXPECT_EQ(lines_at(file + ":4")[0].text, "");
  EXPECT_EQ(lines_at(folder.path().string() + ":1")[0].text, "");
  EXPECT_EQ(lines_at("/nowhere/k.cu:1")[0].text, "");
}

// ---- The table ----

std::string printed(const std::vector<LineCounts>& lines) {
  testing::internal::CaptureStdout();
  print_lines(lines);
  std::fflush(stdout);
  return testing::internal::GetCapturedStdout();
}

/// The characters of the longest line.
std::size_t width(const std::string& text) {
  std::size_t widest = 0;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);)
    widest = std::max<std::size_t>(widest,
                                   std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; }));
  return widest;
}

TEST(CountLines, TheTableIsAtMost100ColumnsWide) {
  LineCounts line{.file = "gpu/matmul/tiled.cu", .line = 12345};
  for (int i = 0; i < 60; ++i) line.text += "sum += µ; ";
  line.accesses = {{.kind = "async shared store",
                    .unit = "wavefronts",
                    .requests = 123456789012,
                    .accesses = 999999999999,
                    .bytes = 99999999999999,
                    .transactions = 3950617248384,
                    .at_best = 123456789012}};
  const std::string table = printed({line});
  EXPECT_LE(width(table), 100u) << table;
  EXPECT_TRUE(contains(table, "…")) << table;
  EXPECT_TRUE(contains(table, " 123456789012 999999999999   8.1 99999999999999    32.00    1.00  wavefronts\n"))
      << table;
  EXPECT_EQ(printed({}), "");
}

TEST(CountLines, TheTableNamesFilesOnceAndOperations) {
  const LineCounts first{.file = "a.cu", .line = 1, .text = "x", .fp32 = {.adds = 5, .fmas = 7, .specials = 3}};
  const LineCounts second{.file = "a.cu", .line = 2, .fp64 = {.muls = 4}};
  const LineCounts unknown{.fp32 = {.adds = 9}};
  const std::string table = printed({first, second, unknown});
  EXPECT_EQ(table.find("a.cu"), table.rfind("a.cu")) << table;
  EXPECT_TRUE(
      contains(table,
               "    1  x\n    FP32                          7 fused multiply-add, 5 add, 3 divide, root, …\n    2\n"
               "    FP64                          4 multiply\nlines not known"))
      << table;
}

// ---- The program ----

struct Ended {
  int code;
  std::string output;
};

Ended rung_count(const std::string& arguments, const std::string& environment = "") {
  std::FILE* pipe = popen((environment + " " + RUNG_PROGRAM + " count " + arguments + " 2>&1").c_str(), "r");
  Ended ended{-1, ""};
  char buffer[4096];
  while (const std::size_t n = fread(buffer, 1, sizeof buffer, pipe)) ended.output.append(buffer, n);
  const int status = pclose(pipe);
  ended.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return ended;
}

TEST(CountProgram, LinesAddUpToTheKernelsCounts) {
  const Ended ended = rung_count("gpu/matmul/tiled --n 32 --tile 16 --lines --json");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto kernel = nlohmann::json::parse(ended.output)[0];
  std::uint64_t fmas = 0, loaded = 0, conflict_free = 0;
  for (const auto& line : kernel["lines"]) {
    fmas += line["fp32"]["fmas"].get<std::uint64_t>();
    for (const auto& access : line["accesses"]) {
      if (access["kind"] == "global load") loaded += access["bytes"].get<std::uint64_t>();
      if (access["kind"] == "shared load") conflict_free += access["transactions"].get<std::uint64_t>();
    }
    if (can_name_lines()) {
      EXPECT_EQ(line["file"], "gpu/matmul/tiled.cu");
      EXPECT_GT(line["line"], 0);
      EXPECT_NE(line["text"], "");
    }
  }
  EXPECT_EQ(fmas, kernel["fmas"]);
  EXPECT_EQ(fmas, 32768u);
  EXPECT_EQ(loaded, kernel["bytes_executed_loaded"]);
  EXPECT_EQ(conflict_free, kernel["shared_load_wavefronts"]);
  EXPECT_EQ(nlohmann::json::parse(rung_count("gpu/matmul/tiled --n 32 --json").output)[0].count("lines"), 0u);
}

TEST(CountProgram, TheTablesFitAndNeedNoAddr2line) {
  const Ended ended = rung_count("gpu/matmul/tiled --n 32 --lines");
  EXPECT_EQ(ended.code, 0);
  EXPECT_LE(width(ended.output), 100u) << ended.output;
  if (can_name_lines()) {
    EXPECT_TRUE(contains(ended.output, "as[ty][tx] = a[row * n + phase * Tile + tx];")) << ended.output;
  }
  const Ended without = rung_count("gpu/matmul/tiled --n 32 --lines", "PATH=/nowhere");
  EXPECT_EQ(without.code, 0);
  EXPECT_TRUE(contains(without.output, "lines not known")) << without.output;
  EXPECT_TRUE(contains(without.output, "shared store")) << without.output;
}

TEST(CountProgram, CachesOfADeviceThatHasThem) {
  const Ended table = rung_count("gpu/matmul/naive --n 32 --caches h200");
  EXPECT_EQ(table.code, 0) << table.output;
  EXPECT_TRUE(contains(table.output, "Caches of the H200")) << table.output;
  const Ended ended = rung_count("gpu/matmul/naive --n 32 --caches h200 --json");
  ASSERT_EQ(ended.code, 0) << ended.output;
  const auto entry = nlohmann::json::parse(ended.output)[0];
  // Loaded: all inputs once from DRAM. Asked of the caches: every sector of every request.
  EXPECT_EQ(entry["model_dram_bytes_read"], 2 * 32 * 32 * 4);
  EXPECT_EQ(entry["model_l1_load_sectors"], entry["load_sectors"]);
  EXPECT_GT(entry["model_l1_hit_rate"], 0);
  EXPECT_EQ(rung_count("gpu/matmul/naive --n 32 --json").output.find("model_"), std::string::npos);
}

TEST(CountProgram, ADeviceWithoutAModelIsWrongUsage) {
  for (const char* device : {"no_such_device", "GTX480", "''"}) {
    const Ended ended = rung_count(std::string("gpu/matmul/naive --n 32 --caches ") + device);
    EXPECT_EQ(ended.code, 2) << device << ": " << ended.output;
    EXPECT_EQ(std::count(ended.output.begin(), ended.output.end(), '\n'), 1) << ended.output;
  }
}

}  // namespace
}  // namespace rung
