/// A ring of tiles in shared memory: while the tensor cores multiply one pair of tiles, asynchronous copies fill the
/// next three, so that the latency of memory is hidden by depth instead of by other blocks. One barrier per step: after
/// it, a pair has arrived and the pair that is filled next has been read.
/// Source: NVIDIA CUDA C++ Programming Guide, asynchronous data copies; CUTLASS, multi-stage kernels.
#include "gpu/matmul/fragments.hpp"

namespace rung {
namespace {

constexpr int kStages = 4;

/// Starts the copy of a chunk. A chunk that is not aligned, or not inside the matrix, is loaded and stored instead.
__device__ __forceinline__ void copy_chunk(mem<uint4>* to, const Matrix<mem<Bits16>>& x, int row, int col) {
  if (x.quads && row < x.rows && col + kChunk <= x.cols)
    __pipeline_memcpy_async(to, x.at + (row * x.ld + col), 16);
  else
    *to = chunk_at(x, row, col);
}

template <Type kType>
__global__ void __launch_bounds__(kFragmentThreads, 2) matmul_mma_stages(Gemm16 g) {
  mem<uint4>* const tiles = dynamic_shared<mem<uint4>>();
  const int steps = (g.k + kDepth - 1) / kDepth;
  const auto load = [&](int step) {
    if (step < steps) {
      mem<uint4>* const as = tiles + step % kStages * 2 * kChunks;
      const int k = step * kDepth;
#pragma unroll
      for (int i = 0; i < kChunks / kFragmentThreads; ++i) {
        const int chunk = i * kFragmentThreads + threadIdx.x;
        const int a_row = chunk / kChunksOfA, a_chunk = chunk % kChunksOfA;
        const int b_row = chunk / kChunksOfB, b_chunk = chunk % kChunksOfB;
        copy_chunk(as + place_of_a(a_row, a_chunk), g.a, blockIdx.y * kFragmentTile + a_row, k + a_chunk * kChunk);
        copy_chunk(as + kChunks + place_of_b(b_row, b_chunk), g.b, k + b_row,
                   blockIdx.x * kFragmentTile + b_chunk * kChunk);
      }
    }
    __pipeline_commit();  // an empty group, too, so that groups are counted alike in every step
  };
  Sums sums;
  sums.clear();
#pragma unroll
  for (int step = 0; step < kStages - 1; ++step) load(step);
  for (int step = 0; step < steps; ++step) {
    __pipeline_wait_prior(kStages - 2);
    __syncthreads();
    load(step + kStages - 1);
    const mem<uint4>* const as = tiles + step % kStages * 2 * kChunks;
    multiply_tiles<kType>(sums, as, as + kChunks);
  }
  put_sums(g, sums);
}

template <Type kType>
bool add_matmul_mma_stages(const char* name) {
  return add_gpu_kernel({
      .name = name,
      .order = 320,
      .title = "mma.sync, four stages",
      .idea = "Asynchronous copies fill three pairs of tiles while a fourth one is multiplied.",
      .source = {{"cuda-guide", "asynchronous data copies"}},
      .type = kType,
      .is_general = true,
      .gpu = {.min_compute_capability = 80,
              .launch =
                  [](const Params& p) {
                    Launch launch = fragments_launch(p);
                    launch.dynamic_shared_bytes = kStages * 2 * kChunks * sizeof(uint4);
                    return launch;
                  },
              .requested = fragments_traffic},
      .run = [](const Call& call) { launch(call, matmul_mma_stages<kType>, gemm16(call)); },
  });
}

const bool added = add_matmul_mma_stages<Type::bf16>("gpu/matmul/mma_stages_bf16") &&
                   add_matmul_mma_stages<Type::fp16>("gpu/matmul/mma_stages_fp16");

}  // namespace
}  // namespace rung
