#include "common/machine/device_facts.hpp"

#include <gtest/gtest.h>

#include "common/model/devices.hpp"

namespace rung {
namespace {

TEST(AssumedDevice, IsWhatLaunchesFollowFromAsLongAsItLives) {
  const int present = gpu_facts().sm_count;
  {
    const AssumedDevice assumed(find_device("RTX 3080"));
    EXPECT_EQ(gpu_facts().sm_count, 68);
    EXPECT_EQ(gpu_facts().l2_bytes, 5 << 20);
    EXPECT_EQ(gpu_facts().shared_bytes_per_block, 99u << 10);
  }
  EXPECT_EQ(gpu_facts().sm_count, present);
}

}  // namespace
}  // namespace rung
