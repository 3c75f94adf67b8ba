/// The first rung on the tensor cores that sets the place of each element: tiles in swizzled shared memory, from which
/// ldmatrix loads the fragments of mma.sync. A multiply-add of 16 x 8 x 16 is one instruction of a warp, so the rate of
/// operands limits a kernel, no longer the issue of instructions.
/// Source: NVIDIA PTX ISA, warp-level matrix instructions.
#include "gpu/matmul/fragments.hpp"

namespace rung {
namespace {

template <Type kType>
__global__ void __launch_bounds__(kFragmentThreads, 2) matmul_mma(Gemm16 g) {
  __shared__ __align__(16) mem<uint4> as[kChunks];
  __shared__ __align__(16) mem<uint4> bs[kChunks];
  Sums sums;
  sums.clear();
  for (int k = 0; k < g.k; k += kDepth) {
#pragma unroll
    for (int i = 0; i < kChunks / kFragmentThreads; ++i) {
      const int chunk = i * kFragmentThreads + threadIdx.x;
      const int a_row = chunk / kChunksOfA, a_chunk = chunk % kChunksOfA;
      const int b_row = chunk / kChunksOfB, b_chunk = chunk % kChunksOfB;
      as[place_of_a(a_row, a_chunk)] = chunk_at(g.a, blockIdx.y * kFragmentTile + a_row, k + a_chunk * kChunk);
      bs[place_of_b(b_row, b_chunk)] = chunk_at(g.b, k + b_row, blockIdx.x * kFragmentTile + b_chunk * kChunk);
    }
    __syncthreads();  // both tiles are complete
    multiply_tiles<kType>(sums, as, bs);
    __syncthreads();  // and read before they are replaced
  }
  put_sums(g, sums);
}

template <Type kType>
bool add_matmul_mma(const char* name) {
  return add_gpu_kernel({
      .name = name,
      .order = 310,
      .title = "mma.sync",
      .idea = "Tensor cores multiply fragments that ldmatrix reads from swizzled shared memory without bank conflicts.",
      .source = {{"ptx-isa", "warp-level matrix instructions"}},
      .type = kType,
      .is_general = true,
      .gpu = {.min_compute_capability = 80, .launch = fragments_launch, .requested = fragments_traffic},
      .run = [](const Call& call) { launch(call, matmul_mma<kType>, gemm16(call)); },
  });
}

const bool added =
    add_matmul_mma<Type::bf16>("gpu/matmul/mma_bf16") && add_matmul_mma<Type::fp16>("gpu/matmul/mma_fp16");

}  // namespace
}  // namespace rung
