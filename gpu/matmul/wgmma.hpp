/// The rungs that multiply with wgmma, of compute capability 9.0: the shape of a compiled kernel, the kernel and its
/// launch. A rung is a shape and an order of tiles.
///
/// One warpgroup issues the loads: TMA writes tiles of A (rows x 64) and of B (64 x columns) into a ring of stages.
/// Each of the others multiplies 64 rows of A by the whole of B straight out of shared memory, and keeps 64 x 256 sums
/// in its registers. Sources: NVIDIA PTX ISA (wgmma, cp.async.bulk.tensor, mbarrier, setmaxnreg); CUTLASS,
/// warp-specialised persistent kernels; Shankhdhar, fast.cu (2024).
#pragma once

#include "gpu/device_facts.hpp"
#include "gpu/matmul/fragments.hpp"
#include "gpu/matmul/hopper_schedule.hpp"

namespace rung::wgmma {

inline constexpr const char* kNotEmulated = "wgmma, TMA and mbarriers are instructions of compute capability 9.0";

constexpr int kRowsOfGroup = 64, kCols = 256, kDepth = 64;  // of C, of C, in k
constexpr int kBoxCols = 64;                                // of B: 128 bytes, the width of TMA's swizzle

struct Shape {
  int groups;       ///< warpgroups that multiply
  int stages;       ///< of the ring
  bool persistent;  ///< one block a multiprocessor, which computes tile after tile
  int cluster;      ///< blocks, one below the other, that load each tile of B together: 1 or 2

  __host__ __device__ constexpr int rows() const { return groups * kRowsOfGroup; }
  __host__ __device__ constexpr int threads() const { return (groups + 1) * 128; }
  __host__ __device__ constexpr int a_bytes() const { return rows() * kDepth * 2; }
  __host__ __device__ constexpr int b_bytes() const { return kDepth * kCols * 2; }
  __host__ __device__ constexpr int stage_bytes() const { return a_bytes() + b_bytes(); }
  /// Of the ring, aligned to 1024 bytes, and of two mbarriers for each stage.
  __host__ __device__ constexpr int shared_bytes() const { return stages * stage_bytes() + 1024 + stages * 16; }
};

/// Tiles, or pairs of tiles where two blocks work together.
inline std::int64_t clusters_of(const Shape& s, const MatmulShape& p) {
  return std::int64_t{blocks_for(p.m, s.rows() * s.cluster)} * blocks_for(p.n, kCols);
}

inline Launch launch_of(const Shape& s, const Params& params) {
  const std::int64_t clusters = clusters_of(s, matmul_shape(params));
  const std::int64_t most = std::max(1, gpu_facts().sm_count / s.cluster);
  const std::int64_t blocks = s.cluster * (s.persistent ? std::min(clusters, most) : clusters);
  return {{static_cast<unsigned>(blocks)}, {static_cast<unsigned>(s.threads())}, std::size_t(s.shared_bytes())};
}

/// Each cluster loads its rows of A and its columns of B once.
inline Traffic traffic_of(const Shape& s, const Params& p) {
  return tiled_traffic(p, s.rows() * s.cluster, kCols, sizeof(Bits16));
}

}  // namespace rung::wgmma

#if defined(RUNG_SM90A)  // defined for files compiled by nvcc for sm_90a
#include "gpu/matmul/wgmma_kernel.hpp"
#else
namespace rung::wgmma {
inline namespace absent {  // distinct from the GPU build of the same file, which is linked into the same program

template <Type kType, int kGroups, int kStages, bool kPersistent, int kCluster>
void run(const Call&) {
  throw Error("this program has no code for sm_90a: build it with CUDA 12.5 or later and CMAKE_CUDA_ARCHITECTURES=90");
}

}  // namespace absent
}  // namespace rung::wgmma
#endif

namespace rung::wgmma {
namespace {

/// What TMA cannot read.
inline std::string refuse(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return k % 8 || n % 8 ? "takes rows of A and of B that begin at multiples of 16 bytes: n and k divisible by 8" : "";
}

/// The record but for what a rung is called and how it differs.
template <Type kType, Shape kShape>
bool add_rung(Kernel kernel) {
  kernel.source = {{"ptx-isa", "wgmma"}, {"cutlass", "warp specialisation"}};
  kernel.type = kType;
  kernel.refuse = refuse;
  kernel.gpu.min_compute_capability = 90;
  kernel.gpu.not_emulated = kNotEmulated;
  kernel.gpu.launch = [](const Params& p) { return launch_of(kShape, p); };
  kernel.gpu.requested = [](const Params& p) { return traffic_of(kShape, p); };
  kernel.run = run<kType, kShape.groups, kShape.stages, kShape.persistent, kShape.cluster>;
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::wgmma
