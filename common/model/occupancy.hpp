/// Occupancy by arithmetic: how many blocks of a kernel an SM holds at once, and what stops it from holding more.
///
/// Sources: the CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and (for the
/// FP32 units) "Arithmetic Instructions"; NVIDIA's occupancy calculator (for the allocation units); checked against the
/// CUDA occupancy API on a GPU (tests/gpu/occupancy_api.cu) and against cuda_occupancy.h
/// (tests/common/model/model_test.cpp).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace rung {

constexpr int kWarp = 32;  ///< threads

/// What one SM of a compute capability offers. Where shared memory and L1 share one array, the largest carve-out.
/// Registers are 32-bit, memory is in bytes.
struct SmLimits {
  int major = 0, minor = 0;
  int threads_per_block = 0, threads_per_sm = 0, blocks_per_sm = 0;
  static constexpr int threads_along_z =
      64;  ///< of a block, on every GPU so far; x and y are limited by threads_per_block
  static constexpr int blocks_along_y = 65'535;  ///< of a grid, on every GPU so far
  int registers_per_sm = 0, registers_per_block = 0, registers_per_thread = 0;
  int register_unit = 0;            ///< registers are handed out in multiples of this
  bool registers_by_block = false;  ///< to a whole block at once (1.x), or to each warp
  int register_warps = 0;           ///< warps are spread over this many register files (1.x: rounded up to)
  int launch_warps = 0;             ///< a launch is checked as if the block had a multiple of this many warps
  int shared_per_sm = 0;
  int shared_per_block = 0;        ///< without opt-in, and for __shared__ arrays of fixed size
  int shared_per_block_optin = 0;  ///< dynamic, after cudaFuncSetAttribute; the same where there is no opt-in
  int shared_unit = 0;             ///< shared memory is handed out in multiples of this
  int shared_reserved = 0;         ///< taken by CUDA in each block
  int fp32_units = 0;              ///< of an SM: its "CUDA cores"

  int warps_per_sm() const { return threads_per_sm / 32; }
  int blocks_along_x() const { return major >= 3 ? 2'147'483'647 : 65'535; }
  int blocks_along_z() const { return major >= 2 ? 65'535 : 1; }
};

/// What a block requires. Shared memory is static and dynamic together, as the kernel requests it. On 1.x the compiler
/// puts a kernel's arguments there, too, and includes them in its resource report.
struct BlockNeeds {
  std::int64_t threads = 0;               ///< of all three sides together
  std::int64_t registers_per_thread = 0;  ///< 0: not known, so not a limit
  std::int64_t shared_bytes = 0;
  std::int64_t z = 1;  ///< threads along z, which have a lower limit than a block's threads
};

/// Means "this resource sets no limit".
inline constexpr int kUnlimited = std::numeric_limits<int>::max();

struct Occupancy {
  int blocks_per_sm = 0;
  int warps_per_block = 0;
  int warps = 0, max_warps = 0;  ///< resident on an SM, and how many it can hold

  int blocks_by_threads = 0;  ///< blocks that would fit if only ... counted
  int blocks_by_slots = 0;
  int blocks_by_registers = 0;  ///< kUnlimited if none are used
  int blocks_by_shared = 0;     ///< kUnlimited if none is used

  std::int64_t registers_per_block = 0;  ///< allocated: rounded up
  std::int64_t shared_per_block = 0;     ///< allocated: with what CUDA reserves, rounded up
  bool needs_opt_in = false;             ///< more shared memory than a kernel gets without cudaFuncSetAttribute

  /// "threads", "blocks", "registers", "shared memory", or several: "threads and registers"; "threads along z" where
  /// the block has too many of them.
  std::string limiter;
  std::string reason;  ///< why CUDA would refuse the launch; empty if the block runs

  bool runs() const { return reason.empty(); }
  /// Resident warps over the warps that the SM can hold, 0..1.
  double fraction() const { return max_warps > 0 ? static_cast<double>(warps) / max_warps : 0; }
};

/// Every compute capability in the model, in order.
std::span<const SmLimits> all_sm_limits();

/// The limits of one SM; nothing for a compute capability that is not in the model, for instance of a newer GPU.
std::optional<SmLimits> find_sm_limits(int major, int minor);

/// The same; throws Error, listing those that are known, for any other compute capability.
SmLimits sm_limits(int major, int minor);

/// Resident blocks and what limits them, as cudaOccupancyMaxActiveBlocksPerMultiprocessor counts them. A block that the
/// device cannot run gives 0 blocks and a reason. Throws Error for needs that no block has: no threads, negative or
/// absurdly large amounts.
Occupancy occupancy(const SmLimits& sm, const BlockNeeds& block);

}  // namespace rung
