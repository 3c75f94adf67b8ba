/// Kernels of the textbook, or what its text warns of, at its own size: matrices of 3 x 3 with tiles of 2 x 2, so that
/// the last tiles reach beyond the matrices. Names are the figures'.
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kWidth = 3, kTile = 2, kTiles = 2;
const Launch kBlocks = {{kTiles, kTiles}, {kTile, kTile}};
constexpr int kElements = kWidth * kWidth;
constexpr std::size_t kMatrix = kElements * sizeof(float);
const std::vector<FaultyBuffer> kMatrices = {{"M", kMatrix, true, numbers_from(1, kElements)},
                                             {"N", kMatrix, true, numbers_from(10, kElements)},
                                             {"P", kMatrix}};

enum class Checks {
  all,          ///< PMPP 4e, figure 5.13: an access beyond a matrix gives 0
  none,         ///< figure 5.9, with as many phases as 5.13
  without_else  ///< PMPP 3e, figure 4.20: as printed it stores no 0
};

template <Checks kChecks>
__global__ void product(const mem<float>* M, const mem<float>* N, mem<float>* P) {
  __shared__ mem<float> Mds[kTile][kTile];
  __shared__ mem<float> Nds[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  reg<float> sum = 0;
  for (int ph = 0; ph < kTiles; ++ph) {
    if (kChecks == Checks::none || (row < kWidth && ph * kTile + tx < kWidth))
      Mds[ty][tx] = M[row * kWidth + ph * kTile + tx];
    else if (kChecks == Checks::all)
      Mds[ty][tx] = 0.0f;
    if (kChecks == Checks::none || (ph * kTile + ty < kWidth && col < kWidth))
      Nds[ty][tx] = N[(ph * kTile + ty) * kWidth + col];
    else if (kChecks == Checks::all)
      Nds[ty][tx] = 0.0f;
    __syncthreads();
    for (int k = 0; k < kTile; ++k) sum += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if (row < kWidth && col < kWidth) P[row * kWidth + col] = sum;
}

const bool no_else = add_faulty({.name = "tiled_product_without_zeros",
                                 .what = "tiled product, 3 x 3: beyond the matrices a tile keeps what it held before",
                                 .findings = {"uninitialised shared memory"},
                                 .buffer = "Mds",
                                 .launch = kBlocks,
                                 .buffers = kMatrices,
                                 .run = on_buffers(product<Checks::without_else>),
                                 .right = on_buffers(product<Checks::all>)});
const bool no_checks =
    add_faulty({.name = "tiled_product_without_checks",
                .what = "tiled product, 3 x 3: loads beyond the end of a row and of the matrix",
                .findings = {"out of bounds"},  // of M or of N: which comes first depends on the order
                .launch = kBlocks,
                .buffers = kMatrices,
                .run = on_buffers(product<Checks::none>)});

/// Threads without an element of P load nothing, although others need what they would load.
__global__ void threads_left_out(const mem<float>* M, const mem<float>* N, mem<float>* P) {
  __shared__ mem<float> Mds[kTile][kTile];
  __shared__ mem<float> Nds[kTile][kTile];
  const int tx = threadIdx.x, ty = threadIdx.y;
  const int row = blockIdx.y * kTile + ty, col = blockIdx.x * kTile + tx;
  const bool has_element = row < kWidth && col < kWidth;
  reg<float> sum = 0;
  for (int ph = 0; ph < kTiles; ++ph) {
    if (has_element) {
      Mds[ty][tx] = ph * kTile + tx < kWidth ? M[row * kWidth + ph * kTile + tx] : 0.0f;
      Nds[ty][tx] = ph * kTile + ty < kWidth ? N[(ph * kTile + ty) * kWidth + col] : 0.0f;
    }
    __syncthreads();
    if (has_element)
      for (int k = 0; k < kTile; ++k) sum += Mds[ty][k] * Nds[k][tx];
    __syncthreads();
  }
  if (has_element) P[row * kWidth + col] = sum;
}

const bool left_out = add_faulty({.name = "tiled_product_threads_left_out",
                                  .what = "tiled product, 3 x 3: threads without an element of P do not load, either",
                                  .findings = {"uninitialised shared memory"},
                                  .buffer = "Mds",
                                  .launch = kBlocks,
                                  .buffers = kMatrices,
                                  .run = on_buffers(threads_left_out)});

}  // namespace
}  // namespace rung
