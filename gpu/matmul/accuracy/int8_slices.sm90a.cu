/// FP32's accuracy in INT8, the Ozaki scheme: rows of A and columns of B become whole numbers of 31 bits, cut into four
/// slices of 8 bits (int8_slices.hpp). Tensor cores multiply and add slices exactly. Only two things are rounded: each
/// number when it is cut, and each of the four sums of products of one weight when it becomes a float32. Of the 16
/// products of slices the 6 smallest are left out; each is 2^-30 of the largest numbers' product at most.
///
/// The four sums of a tile of C are computed one after the other, from 4, 3, 2 and 1 pairs of slices, the smallest
/// weight first. For the pipeline each is an ordinary product of INT8 matrices, as deep as its pairs together. After
/// each, four times per tile, the sums are converted and added to totals in further registers.
///
/// Errors. Let a' and b' be the largest numbers of a row of A and a column of B. An element of C has two roundings of
/// FP32, however large k is. In addition it misses the bits cut off the numbers, 2^-31 a' or b' each, and the products
/// left out: k 2^-28 a' b' at most. If all numbers had one size, that would be a sixteenth of SGEMM's bound, (k + 2)
/// 2^-24 |A||B|; so an element is within SGEMM's bound if the mean of |a||b| along k is at least a' b' / 16. It may be
/// outside where the large numbers of a row meet small ones of the column: then the error is bounded only relative to
/// a' b', as wherever a row shares one exponent. Scales of rows, of columns and of numbers along k are removed before
/// (cut_slices.hpp). With random, badly scaled and cancelling inputs the largest errors are smaller than SGEMM's from k
/// = 256 on. In sums of a few terms single elements may exceed SGEMM's bound, so 4 times that bound is required. No
/// other kernel takes over where an error is larger.
///
/// Unlike SGEMM: an infinity in a row of A or a column of B results in NaN. Denormal numbers are kept, and nothing
/// overflows before C does.
///
/// Floor: ten times the operations over INT8's peak, 1979 TOP/s on an H200: 198 TFLOP/s, where FP32's peak is 67
/// TFLOP/s. Exponents have to be found, and numbers cut, before.
/// Source: Ozaki, Ogita, Oishi, Rump 2012; Ootomo, Ozaki, Yokota 2024; Uchino, Ozaki, Imamura 2025.
#include "gpu/matmul/accuracy/cut_slices.hpp"
#include "gpu/matmul/accuracy/wgmma_terms.hpp"

namespace rung {
namespace wgmma {
namespace {

constexpr int kCount = std::size(kTermShapes);

constexpr Shape sliced(Shape shape) { return shape_for(Type::int8, shape); }
/// The shape with as many registers per thread for sums as one that promotes sums.
__host__ __device__ constexpr Shape with_totals(Shape shape) {
  shape.promotes = true;
  return shape;
}

/// A product as deep as all products of a call's slices together.
MatmulShape whole_shape(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  return {m, n, static_cast<int>(kSliceProducts * padded_slice(k))};
}

int which_of(const Params& p) {
  if (const std::int64_t wanted = p.get("shape", -1); wanted >= 0) return static_cast<int>(wanted);
  const auto cycles = [&](const Named& named) {
    return expected_cycles(sliced(named.shape), whole_shape(p), gpu_facts().sm_count);
  };
  const auto* best = std::min_element(std::begin(kTermShapes), std::end(kTermShapes),
                                      [&](const Named& x, const Named& y) { return cycles(x) < cycles(y); });
  return static_cast<int>(best - kTermShapes);
}
Shape shape_of(const Params& p) { return sliced(kTermShapes[which_of(p)].shape); }

/// The pieces of a tile: the products of o + 1 pairs of slices, for o from 3 down to 0.
template <Shape kShape>
struct SlicedPieces {
  Pieces<kShape> tiles;
  Piece tile;
  int rank, steps, order = -1;  // steps of a slice; o of the next piece

  __device__ SlicedPieces(const Output<float>& out, int block)
      : tiles(out, block), rank(tiles.rank), steps(tiles.steps) {}
  __device__ bool next(Piece& piece) {
    if (order < 0) {
      if (!tiles.next(tile)) return false;
      order = kSlices - 1;
    }
    piece = tile;
    piece.count = (order + 1) * steps;
    piece.b_ahead = (kSlices - 1 - order) * steps;
    piece.ends_tile = order == 0;
    --order;
    return true;
  }
};

/// Multiplies the sums of a tile by the powers of two of its rows and columns.
template <int kCols>
__device__ __forceinline__ void apply_exponents(const Exponents& exponents, const Output<float>& out, int first_row,
                                                int first_col, reg<float> (&total)[kCols / 2]) {
  const int row = first_row + first_row_of_thread(), col = first_col + first_col_of_thread();
  int of_row[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) of_row[half] = row + 8 * half < out.m ? exponents.of_rows[row + 8 * half] : 0;
#pragma unroll
  for (int j = 0; j < kCols / 8; ++j)
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      const int of_col = col + 8 * j + e < out.n ? exponents.of_cols[col + 8 * j + e] : 0;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        reg<float>& one = total[4 * j + 2 * half + e];
        const int exponent = of_row[half] + of_col;
        one = exponent > kNotFinite / 2 ? __uint_as_float(0x7fffffff) : ldexpf(one, exponent - 2 * (kSliceBits - 1));
      }
    }
}

/// total = sum for the smallest weight, else total 2^-8 + sum. The registers of the sums are free until the next piece.
template <int kCols>
__device__ __forceinline__ void add_sums(int (&sum)[kCols / 2], bool is_first, reg<float> (&total)[kCols / 2]) {
  keep_in_order(sum);
  const float weight = is_first ? 0.0f : 1.0f / (1 << kSliceBits);
#pragma unroll
  for (int i = 0; i < kCols / 2; ++i) {
    total[i] = fmaf(total[i], weight, __int2float_rn(sum[i]));
    sum[i] = 0;
  }
}

template <Shape kShape>
__device__ __forceinline__ void store_tile(const Piece& piece, int group, const Output<float>& out,
                                           const Exponents& exponents, Boxes& boxes,
                                           reg<float> (&total)[kShape.cols / 2]) {
  const int row = piece.place.row * kShape.rows() + group * kRowsOfGroup, col = piece.place.col * kShape.cols;
  if (out.k > 0) apply_exponents<kShape.cols>(exponents, out, row, col, total);
  if constexpr (kShape.staged > 0) {
    if (out.by_tma) return stage_sums<kShape.staged>(boxes, total);
  }
  store_any_sums<kShape.cols>(out, row, col, total);
}

template <class Tile>
__global__ void __cluster_dims__(Tile::kShape.cluster_blocks(), 1, 1)
    __launch_bounds__(Tile::kShape.threads(), Tile::kShape.resident())
        matmul_slices(const __grid_constant__ CUtensorMap map_a, const __grid_constant__ CUtensorMap map_b,
                      const __grid_constant__ CUtensorMap map_c, const Output<float> out, const Exponents exponents) {
  constexpr Shape kShape = Tile::kShape;
  constexpr bool kTogether = kShape.cluster > 1;
  const Shared<kShape> shared;
  if (threadIdx.x == 0) shared.init_barriers();
  __syncthreads();
  if constexpr (kTogether) cluster_meeting();  // the other blocks' barriers are initialised, too
  wait_for_previous_kernel();
  allow_next_kernel();
  const int block = kTogether ? block_in_cluster() : 0, group = __shfl_sync(~0u, threadIdx.x / 128, 0);
  using Registers = wgmma::Registers<with_totals(kShape)>;
  if (group == kShape.groups) {
    if constexpr (Registers::kMoved) fewer_registers<Registers::kFew>();
    load_and_store<kShape>(&map_a, &map_b, &map_c, shared, SlicedPieces<kShape>(out, block), 0, out.by_tma);
  } else {
    if constexpr (Registers::kMoved) more_registers<Registers::kMany>();
    reg<float> total[kShape.cols / 2] = {};  // of a tile
    Boxes boxes = shared.boxes(group);
    multiply<Type::int8, kShape>(shared.tiles, shared.full, shared.empty, SlicedPieces<kShape>(out, block), 0, group,
                                 [&](const Piece& piece, int(&sum)[Tile::kShape.cols / 2]) {
                                   constexpr Shape kShape = Tile::kShape;
                                   const bool is_first = piece.b_ahead == 0;
                                   add_sums<kShape.cols>(sum, is_first, total);
                                   if (piece.ends_tile) store_tile<kShape>(piece, group, out, exponents, boxes, total);
                                 });
  }
  if constexpr (kTogether) {
    __syncwarp();
    cluster_barrier();  // no block ends while another one still uses its memory
  }
}

template <class Tile>
void run_slices(const Call& call) {
  constexpr Shape kShape = Tile::kShape;
  const auto it = matmul_of<float>(call);
  const auto boxed = [&](std::size_t operand, int rows, int box_rows) {
    const int cols = static_cast<int>(kSlices * padded_slice(it.k));
    BoxedMatrix x{.at = call.operand<void>(operand), .type = Type::int8, .cols = cols, .rows = rows, .pitch = cols};
    x.box_cols = kShape.row_numbers(), x.box_rows = box_rows, x.swizzle = Swizzle::of_128_bytes;
    return x;
  };
  const BoxedMatrix a = boxed(3, it.m, kShape.rows()), b = boxed(4, it.n, kShape.box_rows());
  BoxedMatrix c;
  const Output<float> out = output_of<Type::fp32, kShape>(call, it, c);
  const Exponents exponents = exponents_at(call.operand<mem<int>>(5), {it.m, it.n, it.k});
  const CUtensorMap map_a = tensor_map(a), map_b = tensor_map(b), map_c = out.by_tma ? tensor_map(c) : map_a;
  if (out.k > 0) cut_into_slices(call, exponents);
  launch_with(needs_of(kShape), call, matmul_slices<Tile>, map_a, map_b, map_c, out, exponents);
}

template <int... Which>
void run_one_of(const Call& call, std::integer_sequence<int, Which...>) {
  const int which = which_of(call.params);
  ((which == Which ? run_slices<TileOf<sliced(kTermShapes[Which].shape)>>(call) : void()), ...);
}

std::vector<Operand> scratch(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  const auto slices = [k = k](const char* name, std::int64_t rows) {
    return Operand{.name = name,
                   .elements = static_cast<std::size_t>(rows * padded_slice(k) * kSlices / 4),
                   .type = Type::uint32,
                   .role = Role::scratch};
  };
  const std::size_t exponents = std::size_t(m) + n + 2 * std::size_t(k);
  return {slices("slices of A", m),
          slices("slices of B^T", n),
          {.name = "exponents", .elements = exponents, .type = Type::int32, .role = Role::scratch}};
}

Traffic traffic(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  const Shape shape = shape_of(p);
  const double c = 4.0 * m * n, read_c = p.get("beta", 0) == 0 ? 0 : c;
  if (p.get("alpha", 1) == 0) return {.loaded = read_c, .stored = c};
  const Traffic cut = cut_traffic({m, n, k});
  const double across = blocks_for(n, shape.cols), down = blocks_for(m, shape.rows() * shape.cluster);
  const double slices = double(whole_shape(p).k) * (across * m + down * n);
  const double exponents = 4.0 * (4 * across * m + 32.0 * shape.groups * shape.cluster * down * n);
  return {.loaded = cut.loaded + slices + exponents + read_c, .stored = cut.stored + c};
}

const bool added = add_gpu_kernel(
    {.name = "gpu/matmul/wgmma_int8_slices",
     .order = 393,
     .title = "INT8 slices",
     .idea = "Each float32, scaled by rows and columns, is cut into four INT8; their ten largest products are added "
             "exactly.",
     .source = {{"ozaki2012"}, {"ootomo2024"}, {"uchino2025"}},
     .is_general = true,
     .error_bound = {.factor = 4},
     .tunables = {{"shape",
                   {{-1, "best"}, {0, kTermShapes[0].name}, {1, kTermShapes[1].name}, {2, kTermShapes[2].name}}},
                  {"group_rows", {8, 4, 16}}},
     .scratch = scratch,
     .gpu = {.min_compute_capability = 90,
             .launch = [](const Params& p) { return launch_of(shape_of(p), p); },
             .requested = traffic},
     .run = [](const Call& call) { run_one_of(call, std::make_integer_sequence<int, kCount>()); }});

}  // namespace
}  // namespace wgmma
}  // namespace rung
