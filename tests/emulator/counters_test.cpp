/// The emulator against the hardware: Nsight Compute's counts on a real GPU
/// (experiments/recorded/*/counters.json, packed by gzip or not) must equal the emulator's counts of the same kernel,
/// to the last operation, request and sector.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/harness/count.hpp"
#include "common/harness/experiment.hpp"
#include "common/machine/device_facts.hpp"
#include "common/model/devices.hpp"
#include "common/source_dir.hpp"

namespace rung {
namespace {

using Json = nlohmann::json;

/// The contents of a file, packed by gzip or not.
std::string unpacked(const std::filesystem::path& path) {
  std::string text;
  std::FILE* pipe = popen(("gzip -dcf '" + path.string() + "'").c_str(), "r");
  std::array<char, 65536> piece;
  while (const std::size_t read = pipe ? std::fread(piece.data(), 1, piece.size(), pipe) : 0)
    text.append(piece.data(), read);
  if (!pipe || pclose(pipe) != 0) throw std::runtime_error("gzip cannot unpack " + path.string());
  return text;
}

/// The recorded counters of each GPU.
std::vector<Json> recorded_counters() {
  std::vector<Json> all;
  for (const auto& machine : std::filesystem::directory_iterator(source_dir() / "experiments/recorded"))
    for (const char* name : {"counters.json", "counters.json.gz"})
      if (const auto file = machine.path() / name; std::filesystem::exists(file))
        all.push_back(Json::parse(unpacked(file)));
  return all;
}

/// Kernels whose machine code on the GPU differs from the source, and so from the emulator's execution.
struct Difference {
  std::string_view experiment;
  std::string_view kernels;  ///< what their names begin with
  std::vector<std::string_view> keys;
  std::string_view why;
};

const std::vector<Difference>& differences() {
  static const std::vector<Difference> all{
      {"barriers",
       "gpu/neighbours/two_barriers",
       {"load_requests", "l1_load_sectors"},
       "the element that a thread has just stored is not loaded again"},
      {"blur", "gpu/blur/running_sum", {"ffma", "fadd"}, "the division by the window's area is several operations"},
      {"blur", "gpu/blur/", {"ffma"}, "the division by the window's area is several multiply-adds"},
      {"blur", "gpu/blur/naive", {"load_requests", "l1_load_sectors"}, "unrolled loops at the edge load in more parts"},
      {"blur",
       "gpu/blur/separable",
       {"load_requests", "l1_load_sectors"},
       "unrolled loops at the edge load in more parts"},
      {"emulator",
       "gpu/sum/lock",
       {"atomic_requests", "atomic_sectors"},
       "blocks try again until another has left the lock"},
      {"heat",
       "gpu/heat/shared_tile",
       {"load_requests", "async_requests"},
       "half of the asynchronous copies that fill all their lanes with zeros count"},
      {"heat", "gpu/heat/temporal", {"fadd"}, "sums that two steps have in common are made once"},
      {"histogram",
       "gpu/histogram/global_atomics",
       {"atomic_sectors"},
       "of lanes that meet at random among 256 counters the GPU counts more, by less than 2 %; the rule is not known"},
      {"math_functions",
       "gpu/math",
       {"ffma", "fadd", "fmul", "dfma", "dadd", "dmul", "load_requests", "l1_load_sectors", "store_requests",
        "l1_store_sectors"},
       "library functions and divisions are sequences of instructions, some with tables, and both paths of a branch "
       "share a store"},
      {"prefix_sum", "gpu/prefix_sum/", {"fadd"}, "additions of known zeros are left out"},
      {"prefix_sum",
       "gpu/prefix_sum/look_back",
       {"load_requests", "l1_load_sectors"},
       "blocks read again until another has written"},
      {"prefix_sum",
       "gpu/prefix_sum/persistent",
       {"load_requests", "l1_load_sectors"},
       "blocks read again until another has written"},
      {"prefix_sum",
       "gpu/prefix_sum/bulk",
       {"load_requests", "l1_load_sectors"},
       "blocks read again until another has written"},
      {"device_code",
       "gpu/tree_walk/recursive",
       {"store_requests", "l1_store_sectors"},
       "lanes return from the recursion at different times and are not joined before they store"},
      {"device_code",
       "gpu/tree_walk/loop",
       {"store_requests", "l1_store_sectors"},
       "lanes that leave the loop in different rounds are joined before they store; in the emulator they are not"},
      {"device_code",
       "gpu/work_array/malloc_",
       {"load_requests", "l1_load_sectors", "store_requests", "l1_store_sectors", "atomic_requests", "atomic_sectors"},
       "malloc and free themselves read, write and count in memory"},
      {"device_code",
       "gpu/work_array/malloc_block",
       {"shared_load_requests", "shared_store_requests"},
       "the pointer that a block's threads share is not counted here"},
      {"divergence", "gpu/branches/both", {"ffma"}, "two of a thread's 128 multiply-adds are left out"},
      {"divergence",
       "gpu/branches/pointer",
       {"store_requests", "l1_store_sectors"},
       "lanes that called different functions are joined before they store; in the emulator they are not"},
      {"divergence", "gpu/discontinuous/", {"ffma", "fadd", "fmul"}, "the sine is a sequence of instructions"},
      {"constant_memory", "gpu/solver/", {"ffma", "fadd", "fmul"}, "products and sums are contracted to multiply-adds"},
      {"tensor_cores", "gpu/matmul/strassen", {"fadd"}, "sums that several blocks have in common are made once"},
      {"tensor_cores",
       "gpu/matmul/wgmma_split_k",
       {"shared_load_requests"},
       "loads from another block's shared memory are not counted here"},
      {"tensor_cores", "gpu/matmul/wgmma_3xtf32", {"fadd"}, "the arithmetic that splits a number is not counted here"},
      {"tensor_cores", "gpu/matmul/wgmma_bf16x", {"fadd"}, "the arithmetic that splits a number is not counted here"},
      {"tensor_cores",
       "gpu/matmul/wgmma_fp16x3",
       {"ffma", "fadd", "fmul"},
       "the arithmetic that scales and splits a number is not counted here"},
      {"tensor_cores", "gpu/matmul/wgmma_int8_slices", {"fmul"}, "multiplying by a power of two is not counted here"},
  };
  return all;
}

class HardwareCounters : public testing::TestWithParam<std::string> {
 protected:
  void compare(const std::string& kernel, const Json& hardware, const Counts& counts);
  std::set<const Difference*> seen;

 private:
  void expect_equal(const std::string& kernel, const Json& hardware, const char* key, std::uint64_t counted);
  void compare_exactly(const std::string& kernel, const Json& hardware, const Counts& counts);
  void compare_shared(const std::string& kernel, const Json& hardware, const char* requests_key,
                      const char* wavefronts_key, std::uint64_t requests, std::uint64_t wavefronts);
};

void HardwareCounters::expect_equal(const std::string& kernel, const Json& hardware, const char* key,
                                    std::uint64_t counted) {
  if (!hardware.contains(key) || hardware[key].get<double>() == double(counted)) return;
  const auto is_it = [&](const Difference& d) {
    return GetParam() == d.experiment && kernel.starts_with(d.kernels) &&
           std::ranges::find(d.keys, key) != d.keys.end();
  };
  const auto found = std::ranges::find_if(differences(), is_it);
  if (found == differences().end())
    ADD_FAILURE() << key << ": hardware " << hardware[key] << ", emulator " << counted;
  else
    seen.insert(&*found);
}

/// Operations of threads; requests and sectors of global memory, where the hardware counts asynchronous copies as
/// loads.
void HardwareCounters::compare_exactly(const std::string& kernel, const Json& hardware, const Counts& counts) {
  expect_equal(kernel, hardware, "ffma", counts.fp32.fmas);
  expect_equal(kernel, hardware, "fadd", counts.fp32.adds);
  expect_equal(kernel, hardware, "fmul", counts.fp32.muls);
  expect_equal(kernel, hardware, "dfma", counts.fp64.fmas);
  expect_equal(kernel, hardware, "dadd", counts.fp64.adds);
  expect_equal(kernel, hardware, "dmul", counts.fp64.muls);
  expect_equal(kernel, hardware, "load_requests", counts.load_requests + counts.async_requests);
  expect_equal(kernel, hardware, "store_requests", counts.store_requests);
  expect_equal(kernel, hardware, "l1_load_sectors", counts.load_sectors + counts.async_sectors);
  expect_equal(kernel, hardware, "l1_store_sectors", counts.store_sectors);
  expect_equal(kernel, hardware, "atomic_requests", counts.atomic_requests);
  expect_equal(kernel, hardware, "async_requests", counts.async_requests);
  expect_equal(kernel, hardware, "atomic_sectors", counts.atomic_sectors);
  expect_equal(kernel, hardware, "shared_atomic_requests", counts.shared_atomic_requests);
  expect_equal(kernel, hardware, "shared_atomic_wavefronts", counts.shared_atomic_wavefronts);
}

/// The compiler merges neighbouring loads of shared memory into wider ones, so a GPU may make fewer requests, never
/// more. Where their number is equal, their wavefronts are equal, too.
void HardwareCounters::compare_shared(const std::string& kernel, const Json& hardware, const char* requests_key,
                                      const char* wavefronts_key, std::uint64_t requests, std::uint64_t wavefronts) {
  if (!hardware.contains(requests_key)) return;
  const double made = hardware[requests_key];
  if (made > double(requests)) expect_equal(kernel, hardware, requests_key, requests);
  if (made == double(requests)) expect_equal(kernel, hardware, wavefronts_key, wavefronts);
}

void HardwareCounters::compare(const std::string& kernel, const Json& hardware, const Counts& counts) {
  compare_exactly(kernel, hardware, counts);
  compare_shared(kernel, hardware, "shared_load_requests", "shared_load_wavefronts_exact", counts.shared_load_requests,
                 counts.shared_load_wavefronts);
  compare_shared(kernel, hardware, "shared_store_requests", "shared_store_wavefronts_exact",
                 counts.shared_store_requests, counts.shared_store_wavefronts);
}

/// Launched as on the counted GPU, with its number of multiprocessors. For two GPUs with the same number, and the same
/// size of shared memory, a point is executed once.
TEST_P(HardwareCounters, EqualTheEmulators) {
#if defined(__SANITIZE_ADDRESS__)
  // Lanes load together if they are at one place in the code, and here the compiler lays loops out in other pieces.
  GTEST_SKIP() << "the sanitizers change the code that the emulator follows";
#elif defined(__clang__)
  GTEST_SKIP() << "clang may move accesses, by which counts differ: with g++ they are equal";
#endif
  std::map<std::tuple<std::string, int, int, int>, Counts> counted;
  int compared = 0;
  for (const Json& recorded : recorded_counters()) {
    const Device* device = match_device(recorded["machine"].get<std::string>());
    ASSERT_NE(device, nullptr) << recorded["machine"];
    const AssumedDevice assumed(*device);
    for (const Point& point : load_experiment(find_experiment(GetParam())).points) {
      const auto found = recorded["points"].find(point.name());
      if (found == recorded["points"].end() || point.way != Way::count || !point.skip.empty()) continue;
      SCOPED_TRACE(point.name());
      const auto [entry, is_new] = counted.try_emplace({point.name(), device->sm_count, device->major, device->minor});
      if (is_new) entry->second = count(point).counts;
      compare(point.kernel->name, *found, entry->second);
      ++compared;
    }
  }
  for (const Difference& difference : differences())
    if (compared > 0 && difference.experiment == GetParam()) {
      EXPECT_TRUE(seen.contains(&difference)) << difference.kernels << " has no such difference any more";
    }
  if (compared == 0) GTEST_SKIP() << "no hardware counters of the points of experiments/" << GetParam() << ".toml";
}

INSTANTIATE_TEST_SUITE_P(Of, HardwareCounters, testing::ValuesIn(experiment_names()),
                         [](const auto& tested) { return tested.param; });

}  // namespace
}  // namespace rung
