#include "common/machine/device_facts.hpp"

#include <algorithm>

#include "common/model/devices.hpp"
#include "common/model/occupancy.hpp"

namespace rung {
namespace {

std::optional<DeviceFacts> assumed;

}  // namespace

DeviceFacts gpu_facts() { return assumed ? *assumed : present_gpu_facts().value_or(DeviceFacts{}); }

AssumedDevice::AssumedDevice(const Device& device) {
  const SmLimits sm = sm_limits(device.major, device.minor);
  assumed = DeviceFacts{.sm_count = device.sm_count,
                        .l2_bytes = static_cast<std::int64_t>(device.l2_bytes),
                        .memory_bytes = static_cast<std::int64_t>(device.dram_bytes),
                        .shared_bytes_per_block = static_cast<std::size_t>(
                            std::min(sm.shared_per_block_optin, sm.shared_per_sm - sm.shared_reserved)),
                        .threads_per_block = std::min(sm.threads_per_block, sm.threads_per_sm)};
}

AssumedDevice::~AssumedDevice() { assumed.reset(); }

}  // namespace rung
