/// What launches and the sizes of a ceiling's arrays follow from. Answers without a GPU, too, so that a kernel can
/// always be listed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace rung {

struct Device;

/// The defaults describe the emulated device, used where there is no GPU: small, so that executing a kernel that
/// fills it takes a moment and not an hour.
struct DeviceFacts {
  int sm_count = 2;
  std::int64_t l2_bytes = 384 << 10;
  std::int64_t memory_bytes = 64 << 20;
  std::size_t shared_bytes_per_block = 48 << 10;  ///< the most that a block may request, and that a multiprocessor has
  int threads_per_block = 1024;                   ///< likewise
};

/// Of the assumed device; where none is assumed of the current CUDA device; where there is none of the emulated one.
DeviceFacts gpu_facts();

/// Of the current CUDA device, or nothing. Starts the CUDA driver in this process, but makes no context.
std::optional<DeviceFacts> present_gpu_facts();

/// As long as it lives, kernels are launched as they would be on this GPU of the catalogue: for counting them on the
/// emulator. Not to be nested.
class AssumedDevice {
 public:
  explicit AssumedDevice(const Device& device);
  ~AssumedDevice();
  AssumedDevice(const AssumedDevice&) = delete;
  AssumedDevice& operator=(const AssumedDevice&) = delete;
};

}  // namespace rung
