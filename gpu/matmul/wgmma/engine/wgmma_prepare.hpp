/// The kernels before the product, for matrices that cannot be read in place: TMA requires rows that begin at multiples
/// of 16 bytes, and tensor cores read 8- or 32-bit numbers only by rows of k. A copy meets both requirements.
/// Floor: each number is read and written once, which takes little time next to a large product.
#pragma once

#include <type_traits>
#include <utility>

#include "gpu/host/tensor_map.hpp"
#include "gpu/matmul/general.hpp"
#include "gpu/simt/simt.hpp"

namespace rung::wgmma {
inline namespace RUNG_BUILD {

using hopper::BoxedMatrix;

// All functions here are static: nvcc would give an unnamed namespace here and one in the enclosing namespace the same
// name.

/// Copies rows of `row_bytes` bytes, `from_pitch` apart, to rows that are `to_pitch` apart.
static __global__ void __launch_bounds__(256)
    align_rows(const mem<unsigned char>* from, std::int64_t from_pitch, mem<unsigned char>* to, std::int64_t to_pitch,
               int row_bytes, int rows) {
  for (int row = blockIdx.y; row < rows; row += gridDim.y)
    for (int byte = blockIdx.x * blockDim.x + threadIdx.x; byte < row_bytes; byte += gridDim.x * blockDim.x)
      to[row * to_pitch + byte] = from[row * from_pitch + byte];
}

constexpr int kTurnThreads = 256, kTurnWords = 32;  // of 4 bytes, in a row of a transposed tile
constexpr int kTurnChunks = kTurnWords / 4;         // of 16 bytes, in a row of a tile before and after

/// Numbers in 4 bytes, and in 16.
template <typename Element>
constexpr int kInWord = 4 / sizeof(Element);
template <typename Element>
constexpr int kInChunk = 16 / sizeof(Element);

/// The 16 bytes of a row that begin at a column, zeros beyond the matrix.
template <typename Element>
__device__ __forceinline__ void read_chunk(const Matrix<mem<Element>>& x, int row, int col, unsigned (&words)[4]) {
  const mem<Element>* from = x.at + (row * x.ld + col);
  if (x.quads && row < x.rows && col + kInChunk<Element> <= x.cols) {
    const uint4 chunk = *vector_cast<uint4>(from);
    words[0] = chunk.x, words[1] = chunk.y, words[2] = chunk.z, words[3] = chunk.w;
    return;
  }
#pragma unroll
  for (int w = 0; w < 4; ++w) {
    words[w] = 0;
#pragma unroll
    for (int i = 0; i < kInWord<Element>; ++i) {
      const int at = w * kInWord<Element> + i;
      if (row < x.rows && col + at < x.cols) words[w] |= unsigned{from[at]} << (8 * sizeof(Element) * i);
    }
  }
}

/// to = x transposed, in rows of whole chunks, one tile per block. A thread reads one chunk, one below the other, for
/// each number of a word, and so has whole words of the result. In shared memory the rows of each chunk of columns are
/// swizzled by the chunk's index: then neither writes nor reads of a warp have bank conflicts.
template <typename Element>
static __global__ void __launch_bounds__(kTurnThreads)
    transpose_matrix(Matrix<mem<Element>> x, mem<Element>* to, std::int64_t ld) {
  constexpr int kNumbers = kInWord<Element>, kCols = kTurnChunks * kInChunk<Element>;
  alignas(16) __shared__ mem<unsigned> tile[kCols][kTurnWords];
  const int thread = threadIdx.x, first_row = blockIdx.y * kTurnWords * kNumbers, first_col = blockIdx.x * kCols;
  const int chunk = thread % kTurnChunks, word = thread / kTurnChunks;
  unsigned of_row[kNumbers][4];
#pragma unroll
  for (int i = 0; i < kNumbers; ++i)
    read_chunk(x, first_row + word * kNumbers + i, first_col + chunk * kInChunk<Element>, of_row[i]);
#pragma unroll
  for (int col = 0; col < kInChunk<Element>; ++col) {
    unsigned turned = of_row[0][col / kNumbers];
    if constexpr (kNumbers == 4) {
      turned = 0;
#pragma unroll
      for (int i = 0; i < kNumbers; ++i) turned |= (of_row[i][col / 4] >> (col % 4 * 8) & 0xff) << (8 * i);
    }
    tile[chunk * kInChunk<Element> + col][word ^ (chunk * 4)] = turned;
  }
  __syncthreads();
#pragma unroll
  for (int i = thread; i < kCols * kTurnChunks; i += kTurnThreads) {
    const int col = i / kTurnChunks, to_chunk = i % kTurnChunks, row = first_row + to_chunk * kInChunk<Element>;
    if (first_col + col >= x.cols || row >= x.rows) continue;
    *vector_cast<uint4>(to + ((first_col + col) * ld + row)) =
        *vector_cast<uint4>(&tile[col][(to_chunk ^ (col / kInChunk<Element>)) * 4]);
  }
}

/// Elements from one row to the next of a copy, whose rows have `cols` elements.
static std::int64_t pitch_of_copy(const BoxedMatrix& x, int cols) {
  const std::int64_t bytes = type_bytes(x.type);
  return std::int64_t{blocks_for(cols * bytes, 16)} * 16 / bytes;
}

/// Floats of the copy of a matrix that must be transposed, or that TMA cannot read; 0 where no copy is needed.
static std::size_t floats_of_copy(const BoxedMatrix& x, bool is_transposed) {
  const std::int64_t bytes = type_bytes(x.type);
  if (is_transposed) return std::size_t(x.cols) * pitch_of_copy(x, x.rows) * bytes / 4;
  const bool is_readable = reinterpret_cast<std::uintptr_t>(x.at) % 16 == 0 && x.pitch * bytes % 16 == 0;
  return is_readable ? 0 : std::size_t(x.rows) * pitch_of_copy(x, x.cols) * bytes / 4;
}

/// If a copy is needed, makes it and lets `x` refer to it.
template <typename Stored>
static void make_readable(const Call& call, BoxedMatrix& x, bool is_transposed, float* copy) {
  if (floats_of_copy(x, is_transposed) == 0) return;
  constexpr std::int64_t kBytes = sizeof(Stored);
  const std::int64_t pitch = pitch_of_copy(x, is_transposed ? x.rows : x.cols);
  Call copying = call;
  if (is_transposed) {
    using Element = std::conditional_t<kBytes == 1, std::uint8_t, std::uint32_t>;
    if constexpr (kBytes != 2) {  // 16-bit numbers are read as they are stored
      const int rows = kTurnWords * kInWord<Element>, cols = kTurnChunks * kInChunk<Element>;
      copying.launch = {{blocks_for(x.cols, cols), blocks_for(x.rows, rows)}, {kTurnThreads}};
      const auto* from = static_cast<const mem<Element>*>(x.at);
      launch(copying, transpose_matrix<Element>,
             Matrix<mem<Element>>{from, x.pitch, x.rows, x.cols, begins_quads(from, x.pitch)},
             reinterpret_cast<mem<Element>*>(copy), pitch);
      std::swap(x.rows, x.cols);
    }
  } else {
    copying.launch = launch_over_rows(x.cols * kBytes, x.rows);
    launch(copying, align_rows, static_cast<const mem<unsigned char>*>(x.at), x.pitch * kBytes,
           reinterpret_cast<mem<unsigned char>*>(copy), pitch * kBytes, static_cast<int>(x.cols * kBytes), x.rows);
  }
  x.at = copy;
  x.pitch = pitch;
}

}  // namespace RUNG_BUILD
}  // namespace rung::wgmma
