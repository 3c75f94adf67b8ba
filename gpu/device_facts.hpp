/// What the sizes of a ceiling's arrays follow from. Answers without a GPU, too, so that a kernel can always be listed.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rung {

/// The defaults describe the emulated device, used where there is no GPU: small, so that executing a kernel that
/// fills it takes a moment and not an hour.
struct DeviceFacts {
  int sm_count = 2;
  std::int64_t l2_bytes = 384 << 10;
  std::int64_t memory_bytes = 64 << 20;
  std::size_t shared_bytes_per_block = 48 << 10;  ///< the most that a block may ask for
};

/// Of the current CUDA device. Starts the CUDA driver in this process, but makes no context.
DeviceFacts gpu_facts();

}  // namespace rung
