/// Shared by the copies by the driver's calls: the GPU's copy engines move the bytes, no kernel does. In an unnamed
/// namespace, so that each of the three builds of a kernel's file has its own copy.
#pragma once

#include "common/problem/transfer.hpp"
#include "gpu/simt/copies.hpp"
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

/// One copy, or one in each direction on two streams.
inline void run_copies(const Call& call) {
  const auto bytes = static_cast<std::size_t>(4 * call.params.at("n"));
  const Direction direction = direction_of(call.params);
  if (direction == Direction::from_gpu)
    return copy_from_gpu(call.operand<void>(1), call.operand<void>(0), bytes, call.stream);
  if (direction == Direction::to_gpu)
    return copy_to_gpu(call.operand<void>(1), call.operand<void>(0), bytes, call.stream);
  void* other = fork_stream(call, 0);
  copy_to_gpu(call.operand<void>(1), call.operand<void>(0), bytes, call.stream);
  copy_from_gpu(call.operand<void>(3), call.operand<void>(2), bytes, other);
  join_stream(call, 0);
}

/// Fills in the fields that their records share.
inline Kernel copy_by_engine(Kernel kernel) {
  kernel.is_library = true;
  kernel.gpu.not_emulated = "a copy by the GPU's copy engines, not by a kernel";
  kernel.run = run_copies;
  return kernel;
}

}  // namespace
}  // namespace rung
