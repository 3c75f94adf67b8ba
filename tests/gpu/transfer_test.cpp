/// Buffers on the GPU's host, and when copies and launches ran. Skipped without a GPU.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <vector>

#include "common/harness/experiment.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/target.hpp"
#include "gpu/host/nvml.hpp"

namespace rung {
namespace {

class HostMemory : public testing::Test {
 protected:
  void SetUp() override {
    if (!the_gpu().target) GTEST_SKIP() << the_gpu().unavailable;
  }
  static GpuTarget& the_gpu() {
    static auto* const gpu = new GpuTarget(open_gpu(0));  // never freed: CUDA may have ended before a static would be
    return *gpu;
  }
  static Target& gpu() { return *the_gpu().target; }
};

TEST_F(HostMemory, IsFilledAndReadAsTheGpusIs) {
  for (const Place place : {Place::pageable, Place::pinned, Place::device})
    for (const std::size_t elements : {std::size_t{1}, (std::size_t{1} << 20) + 1}) {
      const Operand operand{.name = "x", .elements = elements, .place = place};
      void* buffer = gpu().allocate_guarded(operand);
      std::vector<std::uint32_t> there(elements), back(elements);
      for (std::size_t i = 0; i < elements; ++i) there[i] = static_cast<std::uint32_t>(random_bits(3, i));
      gpu().upload(buffer, there.data(), operand.bytes());
      gpu().download(back.data(), buffer, operand.bytes());
      EXPECT_EQ(there, back);
      EXPECT_TRUE(gpu().holds(buffer, there.data(), operand.bytes()));
      there.back() ^= 1;
      EXPECT_FALSE(gpu().holds(buffer, there.data(), operand.bytes()));
      gpu().poison(buffer, operand.bytes(), kPoisonByte);
      gpu().download(back.data(), buffer, operand.bytes());
      EXPECT_EQ(back.back(), 0xFFFFFFFF);
      if (place != Place::device) {
        EXPECT_EQ(std::memcmp(buffer, back.data(), operand.bytes()), 0) << "not on the host";
      }
      gpu().release_guarded(buffer);
    }
}

/// Every chunk has its three stages in turn; copies in one direction never overlap; one stream does one thing at a
/// time.
TEST_F(HostMemory, TheTimelineHasEveryStageOfEveryChunk) {
  const Kernel& kernel = find_kernel("gpu/pipeline/streams");
  for (const std::int64_t streams : {1, 3}) {
    const Point point = point_of(kernel, {{"n", 1 << 22}, {"steps", 64}, {"streams", streams}, {"chunk", 1 << 18}});
    Call call{.params = point.params()};
    call.launch = kernel.gpu.launch(call.params);
    Workload work(gpu(), kernel, *point.problem, call);
    ASSERT_TRUE(work.verify(HostInputs(*point.problem, point.sizes, point.problem->timed_data(), 3)).passed());
    const std::vector<Span> spans = gpu().timeline(kernel, work.call());
    ASSERT_EQ(spans.size(), 3u * 16);
    std::map<std::string, double> engine, stream;
    for (std::size_t i = 0; i < spans.size(); ++i) {
      const auto& [what, on, begin, end] = spans[i];
      EXPECT_EQ(what, i % 3 == 0 ? "copy in" : i % 3 == 1 ? "kernel" : "copy out");
      EXPECT_EQ(on, static_cast<int>(static_cast<std::int64_t>(i / 3) % streams));
      EXPECT_LE(begin, end);
      double& last = stream[std::to_string(on)];
      EXPECT_GE(end, last);
      last = end;
      if (what == "kernel") continue;
      EXPECT_GE(begin, std::min(engine[what], end));  // where there are several engines, one may overtake another
      engine[what] = std::max(engine[what], end);
    }
  }
  const Kernel& naive = find_kernel("gpu/vector_addition/grid");
  const Point point = point_of(naive, {{"n", 1024}});
  Call call{.params = point.params()};
  call.launch = naive.gpu.launch(call.params);
  Workload work(gpu(), naive, *point.problem, call);
  EXPECT_EQ(gpu().timeline(naive, work.call()).size(), 1u);
}

TEST(NoGpu, RatesOfTheLink) {
  EXPECT_NEAR(pcie_gbytes_per_s({1, 16}), 4.0, 0.01);
  EXPECT_NEAR(pcie_gbytes_per_s({3, 16}), 15.75, 0.01);
  EXPECT_NEAR(pcie_gbytes_per_s({4, 8}), 15.75, 0.01);
  EXPECT_NEAR(pcie_gbytes_per_s({5, 16}), 63.0, 0.05);
  EXPECT_EQ(pcie_gbytes_per_s({0, 16}), 0);
  EXPECT_EQ(pcie_gbytes_per_s({99, 16}), 0);
  EXPECT_FALSE(Nvml("no such bus").pcie_link());
}

}  // namespace
}  // namespace rung
