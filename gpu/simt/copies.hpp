/// Copies between host and GPU, and streams beside the call's own, for kernels' records. This header compiles without
/// CUDA, where copies throw Error.
#pragma once

#include <cstddef>

#include "common/registry.hpp"

namespace rung {

/// Streams that a call can have beside its own.
constexpr int kForks = 3;

// Each queues one copy on a stream. From or to pinned memory it returns at once; from pageable memory, when the driver
// has taken the bytes over; to pageable memory, when they are there.
void copy_to_gpu(void* gpu, const void* host, std::size_t bytes, void* stream);
void copy_from_gpu(void* host, const void* gpu, std::size_t bytes, void* stream);

/// A further stream, `which` of kForks: what is queued on it begins after all that is queued on call.stream by now.
void* fork_stream(const Call& call, int which);
/// What is queued on call.stream from now on begins after all that is queued on this further stream.
void join_stream(const Call& call, int which);

}  // namespace rung
