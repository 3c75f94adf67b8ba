#include "common/emulator/tile_product.hpp"

#include <bit>
#include <cmath>
#include <cstring>
#include <vector>

#include "common/problem/narrow_float.hpp"

namespace rung {
namespace {

constexpr int kStepBytes = 32, kRowsOfWarp = 16;
constexpr std::uint64_t k128 = 1, k64 = 2, k32 = 3;  // swizzles, in the highest bits of a descriptor; 0 is none

struct Layout {
  SharedAddress start, leading, stride;
  std::uint64_t swizzle;
};
Layout layout_of(std::uint64_t descriptor) {
  const auto field = [&](int bit) { return static_cast<SharedAddress>(descriptor >> bit & 0x3fff) << 4; };
  return {field(0), field(16), field(32), descriptor >> 62};
}

SharedAddress swizzled(SharedAddress address, std::uint32_t bits) { return address ^ (address >> 7 & bits) << 4; }

/// The number stored at an address. Tensor cores read 10 bits of mantissa of a float32.
template <Type kType>
float number_at(const std::byte* at) {
  if constexpr (kType == Type::tf32) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return std::bit_cast<float>(bits & 0xffffe000u);
  } else if constexpr (kType == Type::int8) {
    return static_cast<float>(static_cast<std::int8_t>(*at));
  } else if constexpr (kType == Type::fp8) {
    return from_fp8(static_cast<Fp8>(*at));
  } else {
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof bits);
    return kType == Type::bf16 ? from_bf16(static_cast<Bf16>(bits)) : from_fp16(static_cast<Fp16>(bits));
  }
}

/// Rounded towards zero.
inline float truncated(double x) {
  const auto nearest = static_cast<float>(x);
  const bool is_beyond = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(nearest) - std::uint32_t{is_beyond});
}

template <Type kType>
void multiply(const TileProduct& product, int warp, std::span<void* const, 32> sums, const SharedWindow& window) {
  using Sum = std::conditional_t<kType == Type::int8, int, float>;
  constexpr int kBytes = kType == Type::tf32 ? 4 : kType == Type::fp8 || kType == Type::int8 ? 1 : 2;
  constexpr int kDepth = kStepBytes / kBytes;
  const int cols = product.cols;
  static thread_local std::vector<float> b;  // by rows of n
  static thread_local std::vector<double> row_sums;
  b.resize(static_cast<std::size_t>(kDepth * cols));
  row_sums.resize(static_cast<std::size_t>(cols));
  for (int n = 0; n < cols; ++n)
    for (int k = 0; k < kDepth; ++k) {
      const SharedAddress at =
          product.b_by_rows ? place_in_rows_of_n(product.b, k, n) : place_in_rows_of_k(product.b, n, k * kBytes);
      b[static_cast<std::size_t>(k * cols + n)] = number_at<kType>(window.at(at, kBytes));
    }
  for (int row = 0; row < kRowsOfWarp; ++row) {
    // A lane has pairs of columns, 8 apart, of a row and of the 8th below it.
    const auto sum_at = [&](int col) -> Sum& {
      return static_cast<Sum*>(
          sums[static_cast<std::size_t>(row % 8 * 4 + col % 8 / 2)])[col / 8 * 4 + row / 8 * 2 + col % 2];
    };
    for (int col = 0; col < cols; ++col)
      row_sums[static_cast<std::size_t>(col)] = product.adds ? static_cast<double>(sum_at(col)) : 0;
    for (int k = 0; k < kDepth; ++k) {
      const int m = kRowsOfWarp * warp + row;
      const SharedAddress at =
          product.a_by_rows ? place_in_rows_of_n(product.a, k, m) : place_in_rows_of_k(product.a, m, k * kBytes);
      const double a = number_at<kType>(window.at(at, kBytes));
      const float* const b_row = b.data() + k * cols;
      double* const into = row_sums.data();
#pragma omp simd
      for (int col = 0; col < cols; ++col) into[col] += a * b_row[col];
    }
    for (int col = 0; col < cols; ++col) {
      const double exact = row_sums[static_cast<std::size_t>(col)];
      if constexpr (kType == Type::int8)
        sum_at(col) = static_cast<int>(static_cast<std::uint32_t>(static_cast<std::int64_t>(exact)));
      else
        sum_at(col) = truncated(exact);
    }
  }
}

}  // namespace

SharedAddress place_in_rows_of_k(std::uint64_t descriptor, int row, int byte) {
  const auto [start, leading, stride, swizzle] = layout_of(descriptor);
  const auto r = static_cast<SharedAddress>(row), b = static_cast<SharedAddress>(byte);
  const SharedAddress pattern = start + r / 8 * stride;
  switch (swizzle) {
    case k128:
      return swizzled(pattern + r % 8 * 128 + b, 7);
    case k64:
      return swizzled(pattern + r % 8 * 64 + b, 3);
    case k32:
      return swizzled(pattern + r % 8 * 32 + b, 1);
    default:
      return pattern + b / 16 * leading + r % 8 * 16 + b % 16;
  }
}

SharedAddress place_in_rows_of_n(std::uint64_t descriptor, int k, int n) {
  const auto [start, leading, stride, swizzle] = layout_of(descriptor);
  const auto row = static_cast<SharedAddress>(k), col = static_cast<SharedAddress>(n);
  return swizzled(start + col / 64 * leading + row / 8 * stride + row % 8 * 128 + col % 64 * 2, 7);
}

bool is_known_layout(const TileProduct& product) {
  constexpr std::uint64_t kBaseOffset = std::uint64_t{7} << 49;
  if ((product.a | product.b) & kBaseOffset) return false;
  return (!product.a_by_rows || product.a >> 62 == k128) && (!product.b_by_rows || product.b >> 62 == k128);
}

void multiply_tiles(const TileProduct& product, int warp, std::span<void* const, 32> sums, const SharedWindow& window) {
  switch (product.type) {
    case Type::bf16:
      return multiply<Type::bf16>(product, warp, sums, window);
    case Type::fp16:
      return multiply<Type::fp16>(product, warp, sums, window);
    case Type::tf32:
      return multiply<Type::tf32>(product, warp, sums, window);
    case Type::fp8:
      return multiply<Type::fp8>(product, warp, sums, window);
    case Type::int8:
      return multiply<Type::int8>(product, warp, sums, window);
    default:
      throw Error("tensor cores multiply no such type in shared memory");
  }
}

}  // namespace rung
