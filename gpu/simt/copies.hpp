/// Copies between host and GPU, and streams in addition to the call's, for kernels' records. This header compiles
/// without CUDA, where copies throw Error.
#pragma once

#include <cstddef>

#include "common/registry.hpp"

namespace rung {

/// Further streams that a call can have.
constexpr int kForks = 3;

// Each queues one copy on a stream. From or to pinned memory it returns at once; from pageable memory, when the driver
// has read the bytes; to pageable memory, when they have arrived.
void copy_to_gpu(void* gpu, const void* host, std::size_t bytes, void* stream);
void copy_from_gpu(void* host, const void* gpu, std::size_t bytes, void* stream);

/// A further stream, `which` of kForks: its work begins after all work that is queued on call.stream now.
void* fork_stream(const Call& call, int which);
/// Work queued on call.stream from now on begins after all work queued on this further stream.
void join_stream(const Call& call, int which);

}  // namespace rung
