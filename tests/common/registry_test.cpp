#include "common/registry.hpp"

#include <gtest/gtest.h>

#include <set>

#include "common/harness/sources.hpp"
#include "common/problem/problem.hpp"
#include "common/record_checks.hpp"

namespace rung {
namespace {

TEST(Registry, IsSortedBySideFamilyAndOrder) {
  const auto& all = kernels();
  std::set<std::string> sides;
  for (std::size_t i = 0; i < all.size(); ++i) {
    sides.insert(all[i].side());
    if (i > 0 && all[i - 1].side() == all[i].side() && all[i - 1].family() == all[i].family()) {
      EXPECT_LE(all[i - 1].order, all[i].order) << all[i].name;
    }
  }
  EXPECT_EQ(sides, (std::set<std::string>{"cpu", "gpu"}));
}

/// What is cited can be found: every id has an entry in experiments/sources.toml.
TEST(Registry, EverySourceIsListed) {
  ASSERT_FALSE(sources().empty());
  for (const Kernel& kernel : kernels())
    for (const Citation& citation : kernel.source)
      EXPECT_TRUE(sources().contains(citation.id)) << kernel.name << " cites " << citation.id;
}

TEST(Registry, ATunableOfWordsTakesThemAlone) {
  Kernel kernel;
  kernel.name = "cpu/sum/words";
  kernel.tunables = {{"fence", words({"none", "block", "device"})}};
  EXPECT_EQ(with_tunables(kernel, {}).text(), "fence:none");
  const Params chosen = with_tunables(kernel, {{"fence", Value(0, "device")}});
  EXPECT_EQ(chosen.text(), "fence:device");
  EXPECT_EQ(chosen.at("fence"), 2);
  EXPECT_THROW(with_tunables(kernel, {{"fence", 1}}), Error);
  EXPECT_THROW(with_tunables(kernel, {{"fence", Value(0, "grid")}}), Error);
}

TEST(Registry, EveryRecordIsComplete) {
  for (const Kernel& kernel : kernels()) {
    SCOPED_TRACE(kernel.name);
    EXPECT_FALSE(kernel.title.empty());
    EXPECT_FALSE(kernel.idea.empty());
    EXPECT_FALSE(kernel.source.empty());
    EXPECT_NO_THROW(problem_of(kernel));
    for (const Tunable& tunable : kernel.tunables) EXPECT_FALSE(tunable.values.empty());
    if (kernel.side() == "cpu") {
      EXPECT_TRUE(kernel.run);
    } else {
      EXPECT_NE(static_cast<bool>(kernel.gpu.emulate), !kernel.gpu.not_emulated.empty()) << "emulated, or says why not";
      EXPECT_TRUE(kernel.is_library || kernel.gpu.launch);
    }
  }
}

TEST(Registry, UnknownNamesGetTheNearestOneSuggested) {
  const std::string known = kernels().front().name;
  const std::string wrong = known.substr(0, known.size() - 1) + "_";
  try {
    find_kernel(wrong);
    FAIL() << "found " << wrong;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(known), std::string::npos) << error.what();
  }
  EXPECT_THROW(match_kernels("nothing/*"), Error);
  EXPECT_EQ(match_kernels("*").size(), kernels().size());
}

/// faults_test.cpp has kernels that are refused.
TEST(Registry, NoKernelIsRefused) {
  for (const RefusedKernel& kernel : refused_kernels()) ADD_FAILURE() << kernel.name << ": " << kernel.reason;
}

TEST(Params, KeepTheirOrderAndNameWhatIsMissing) {
  Params params{{"tile", 16}, {"n", 64}};
  params.set("tile", 32);
  params.set("k", 7);
  EXPECT_EQ(params.text(), "tile:32/n:64/k:7");
  EXPECT_EQ(params.get("absent", -1), -1);
  EXPECT_THROW(params.at("absent"), Error);
}

TEST(Tunables, TakeDefaultsAndRefuseOtherValues) {
  const Kernel kernel{.name = "cpu/x/y", .tunables = {{"tile", {16, 8}}}};
  EXPECT_EQ(with_tunables(kernel, {}).text(), "tile:16");
  EXPECT_EQ(with_tunables(kernel, {{"tile", 8}}).text(), "tile:8");
  EXPECT_THROW(with_tunables(kernel, {{"tile", 9}}), Error);
}

TEST(Sizes, OutsideTheirRangeAreRefused) {
  EXPECT_EQ(positive_size({{"n", 5}}, "m", "n", 10), 5);
  EXPECT_THROW(positive_size({{"n", 0}}, "n", "n", 10), Error);
  EXPECT_THROW(positive_size({{"n", -3}}, "n", "n", 10), Error);
  EXPECT_THROW(positive_size({{"n", std::int64_t{1} << 62}}, "n", "n", 10), Error);
  EXPECT_THROW(positive_size({}, "n", "n", 10), Error);
}

}  // namespace
}  // namespace rung
