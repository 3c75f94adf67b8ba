/// CUB, for the peers of reduction, prefix sum and histogram. This header compiles without CUDA.
#pragma once

#include "common/registry.hpp"

namespace rung {

// Each solves its problem with operands 0 and 1 of the call, on call.stream; operand 2 is temporary storage of
// `storage_bytes` bytes. Throws Error where the program was built without CUDA, and where CUB fails or needs more
// storage.
void cub_sum(const Call& call, std::size_t storage_bytes);
void cub_prefix_sum(const Call& call, std::size_t storage_bytes);
void cub_histogram(const Call& call, std::size_t storage_bytes);

/// For .scratch.
inline std::vector<Operand> cub_storage(std::size_t bytes) {
  return {{.name = "temporary storage",
           .elements = bytes / sizeof(std::uint32_t),
           .type = Type::uint32,
           .role = Role::scratch}};
}

/// Fills in the fields that the records of all peers from CUB share.
inline Kernel cub_peer(Kernel kernel) {
  kernel.order = 90;
  kernel.title = "CUB";
  kernel.idea = "NVIDIA's library of parallel primitives, tuned for each GPU: what a user would call instead.";
  kernel.is_library = true;
  kernel.gpu.not_emulated = "a library of CUDA C++ templates, which only nvcc compiles";
  return kernel;
}

}  // namespace rung
