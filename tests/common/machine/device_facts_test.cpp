#include "common/machine/device_facts.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "common/harness/experiment.hpp"
#include "common/model/devices.hpp"
#include "common/model/occupancy.hpp"

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

/// If a kernel chooses a tunable by the device, the device can launch the chosen value.
TEST(AssumedDevice, LaunchesWhatAKernelChoosesForIt) {
  int checked = 0;
  for (const Device& device : devices()) {
    const AssumedDevice assumed(device);
    for (const Kernel* kernel : match_kernels("gpu/*")) {
      const bool chooses = std::any_of(kernel->tunables.begin(), kernel->tunables.end(),
                                       [](const Tunable& t) { return static_cast<bool>(t.preferred); });
      if (!chooses || kernel->gpu.min_compute_capability > 10 * device.major + device.minor) continue;
      const Launch launch = kernel->gpu.launch(point_of(*kernel, {{"n", 4096}}).params());
      const Occupancy found = occupancy(sm_limits(device.major, device.minor),
                                        {.threads = std::int64_t{launch.block.x} * launch.block.y * launch.block.z,
                                         .shared_bytes = static_cast<std::int64_t>(launch.dynamic_shared_bytes)});
      EXPECT_EQ(found.reason, "") << kernel->name << " on " << device.name;
      ++checked;
    }
  }
  EXPECT_GT(checked, static_cast<int>(devices().size()));
}

}  // namespace
}  // namespace rung
