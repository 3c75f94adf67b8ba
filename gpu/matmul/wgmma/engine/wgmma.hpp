/// The rungs that multiply with wgmma, for compute capability 9.0: the shape of a compiled kernel, its launch and its
/// record. A rung is a shape, or a choice among shapes (wgmma_shapes.hpp); the kernel is in wgmma_kernel.hpp.
///
/// One warpgroup issues the loads: TMA writes tiles of A (rows x 128 bytes of k) and of B (as deep, x columns) into a
/// ring of stages. Each of the others multiplies 64 rows of A by the whole of B straight out of shared memory, and
/// keeps its sums in registers. It stores them itself, or passes them to the first warpgroup, which has TMA store them.
/// A step has the same bytes for all types, and takes tensor cores the same time.
///
/// Layouts: tensor cores read tiles of 16-bit numbers in either order, so A and B are loaded as they are stored, with a
/// separate kernel for each layout. Tiles of other types they read only by rows of k: A by rows and B by columns.
/// Matrices stored otherwise are transposed first (wgmma_prepare.hpp).
///
/// Sources: NVIDIA PTX ISA (wgmma, cp.async.bulk.tensor, mbarrier, setmaxnreg); CUTLASS, warp-specialised persistent
/// kernels; Shankhdhar, fast.cu (2024).
#pragma once

#include "common/machine/device_facts.hpp"
#include "gpu/matmul/accuracy/float_terms.hpp"
#include "gpu/matmul/general.hpp"
#include "gpu/matmul/tma/engine/hopper_schedule.hpp"

namespace rung::wgmma {

constexpr int kRowsOfGroup = 64;  // of C
constexpr int kStepBytes = 128;   // in k, of a row: the width of TMA's swizzle
constexpr int kSliceBytes = 32;   // part of them that an instruction multiplies
static_assert(kSliceBytes == kSlotBytes && kStepBytes == kTermBlockBytes);
constexpr int kStoredCols = 32;  // of the boxes of C that TMA stores: 64 rows of 128 bytes
constexpr int kStoreBytes = kRowsOfGroup * kStoredCols * 4;
constexpr int kBoxCols = 64;  // of a matrix not stored by rows of k: 128 bytes of 16-bit numbers
static_assert(kBoxCols == kRowsOfGroup);

struct Shape {
  int groups;                ///< warpgroups that multiply
  int stages;                ///< of the ring
  bool persistent;           ///< one block per multiprocessor, which computes tile after tile
  int cluster;               ///< blocks, one below the other, that load each tile of B together: 1 or 2
  int cols = 256;            ///< of C
  int parts = 1;             ///< blocks that share a tile, each with a part of k
  int in_turn = 0;           ///< last steps of a tile, which the warpgroups multiply one after the other
  bool splits_tail = false;  ///< the tiles of the last, partial wave are divided along k, through memory
  bool early = false;        ///< starts before the previous kernel has ended, sets itself up, then waits for that end
  int input_bytes = 2;       ///< of a number of A or B
  int staged = 0;            ///< boxes per warpgroup in shared memory, from which TMA stores C; 0: no TMA store
  bool promotes = false;     ///< adds the sums of each step in further registers (FP8: tensor cores keep few bits)
  int terms = 1;             ///< terms whose sum is a number of A or B; the terms of a step are contiguous in its row
  int products = 1;          ///< products of a term of A and a term of B that are added
  bool apart = false;        ///< a step has one of the two terms; products with second terms have separate sums
  int passes = 1;            ///< where sums are added in further registers: parts of the columns, one after the other
  MatmulLayout layout = MatmulLayout::nn;  ///< of the loaded matrices
  bool general = false;  ///< takes any rows and factors, also where A or B must be copied, or C is not in pairs

  __host__ __device__ constexpr int rows() const { return groups * kRowsOfGroup; }
  __host__ __device__ constexpr int threads() const { return (groups + 1) * 128; }
  __host__ __device__ constexpr int cluster_blocks() const { return cluster * parts; }
  __host__ __device__ constexpr int row_numbers() const { return kStepBytes / input_bytes; }  ///< in a step
  __host__ __device__ constexpr int depth() const {
    return terms > 1 ? (apart ? 2 : 1) * kTermDepth : row_numbers();
  }  ///< in k
  __host__ __device__ constexpr bool a_by_columns() const { return layout == MatmulLayout::tn; }
  __host__ __device__ constexpr bool b_by_columns() const { return layout == MatmulLayout::nt; }
  /// Instructions in which a warpgroup multiplies a step.
  __host__ __device__ constexpr int instructions() const {
    return terms > 1 ? products * (depth() * input_bytes / kSliceBytes) : kStepBytes / kSliceBytes;
  }
  __host__ __device__ constexpr int boxes() const { return b_by_columns() ? 1 : cols / kBoxCols; }
  /// Rows of a box of B: blocks that load B together load some boxes each, or else a part of every box.
  __host__ __device__ constexpr int box_rows() const {
    const int most = b_by_columns() ? cols : depth();
    return boxes() % cluster == 0 ? most : most / cluster;
  }
  __host__ __device__ constexpr int a_bytes() const { return rows() * kStepBytes; }
  __host__ __device__ constexpr int b_bytes() const { return cols * kStepBytes; }
  __host__ __device__ constexpr int stage_bytes() const { return a_bytes() + b_bytes(); }
  __host__ __device__ constexpr int staged_bytes() const { return groups * staged * kStoreBytes; }
  /// For the ring, aligned to 1024 bytes, the boxes to be stored, and two mbarriers for each stage and each box.
  __host__ __device__ constexpr int shared_bytes() const {
    return stages * stage_bytes() + staged_bytes() + 1024 + (stages + groups * staged) * 16;
  }
  /// Floats from one row of a partial tile to the next in shared memory. With 8 more than the row has, no two of the 32
  /// pairs that a warp writes are in the same banks.
  __host__ __device__ constexpr int partial_pitch() const { return cols + 8; }
  /// Registers of a thread for sums.
  __host__ __device__ constexpr int sums() const { return cols / 2 + (promotes ? cols / passes / 2 : 0); }
  /// Blocks that fit on a multiprocessor, which has 228 KB and takes 1 KB for each; two are enough.
  __host__ __device__ constexpr int resident() const { return 2 * (shared_bytes() + 1024) <= 228 * 1024 ? 2 : 1; }

  __host__ __device__ constexpr bool is_possible() const {
    return cols % kBoxCols == 0 && (b_by_columns() || (boxes() * depth() / box_rows()) % cluster == 0) &&
           box_rows() <= 256 && (!general || parts == 1) && in_turn <= stages && (!apart || in_turn % 2 == 0) &&
           (b_by_columns() || (input_bytes == 2 && terms == 1)) &&
           (parts == 1 || (!persistent && rows() * partial_pitch() * 4 <= stages * stage_bytes() &&
                           rows() * cols / 4 % (parts * groups * 128) == 0)) &&
           (in_turn == 0 || groups == 2) && (!apart || (terms == 2 && products == 3)) &&
           (passes == 1 || (promotes && cols % passes == 0)) &&
           (!splits_tail || (persistent && parts == 1 && groups <= 2)) && cluster_blocks() <= 8;
  }
};

/// A shape as a type, since not every compiler accepts objects as template arguments of a kernel.
template <int kGroups, int kStages, bool kPersistent, int kCluster, int kCols, int kParts, int kInTurn,
          bool kSplitsTail, bool kEarly, int kInputBytes, int kStaged, bool kPromotes, int kTerms, int kProducts,
          bool kApart, int kPasses, MatmulLayout kLayout, bool kGeneral>
struct Tile {
  static constexpr Shape kShape{kGroups, kStages,     kPersistent, kCluster,    kCols,   kParts,
                                kInTurn, kSplitsTail, kEarly,      kInputBytes, kStaged, kPromotes,
                                kTerms,  kProducts,   kApart,      kPasses,     kLayout, kGeneral};
  static_assert(kShape.is_possible());
};
template <Shape s>
using TileOf = Tile<s.groups, s.stages, s.persistent, s.cluster, s.cols, s.parts, s.in_turn, s.splits_tail, s.early,
                    s.input_bytes, s.staged, s.promotes, s.terms, s.products, s.apart, s.passes, s.layout, s.general>;

/// The same shape for inputs of another type, by default in its usual layout.
constexpr Shape shape_for(Type type, Shape shape, MatmulLayout layout, bool general) {
  shape.input_bytes = type == Type::tf32 ? 4 : type == Type::fp8 || type == Type::int8 ? 1 : 2;
  shape.promotes = type == Type::fp8;
  shape.layout = layout;
  shape.general = general;
  return shape;
}
constexpr Shape shape_for(Type type, const Shape& shape) {
  return shape_for(type, shape, usual_layout(type), stores_b_by_columns(type));
}

/// Tiles, or pairs of tiles where two blocks load B together.
inline std::int64_t tiles_of(const Shape& s, const MatmulShape& p) {
  return std::int64_t{blocks_for(p.m, s.rows() * s.cluster)} * blocks_for(p.n, s.cols);
}

/// The tiles, or pairs of tiles, of a last wave that does not fill all clusters, and the parts into which each is
/// divided along k. All parts are computed at the same time.
struct Tail {
  int tiles = 0, parts = 1;

  int units() const { return tiles * parts; }
  int partial_tiles() const { return parts > 1 ? units() : 0; }  ///< their sums go through memory
};

inline Tail tail_of(const Shape& s, const MatmulShape& p) {
  constexpr int kMost = 16, kExchange = 16;  // steps that take as long as writing, reading and adding the parts' sums
  const int clusters = std::max(1, gpu_facts().sm_count / s.cluster_blocks());
  const int steps = blocks_for(p.k, s.depth());
  Tail tail{.tiles = static_cast<int>(tiles_of(s, p) % clusters)};
  if (!s.splits_tail || tail.tiles == 0) return tail;
  const int parts = std::min({kMost, steps, clusters / tail.tiles});
  if (parts > 1 && (steps + parts - 1) / parts + kExchange < steps) tail.parts = parts;
  return tail;
}

inline Launch launch_of(const Shape& s, const Params& params) {
  const MatmulShape p = matmul_shape(params);
  const std::int64_t tiles = tiles_of(s, p), most = std::max(1, gpu_facts().sm_count / s.cluster_blocks());
  const std::int64_t at_once = tiles < most ? tail_of(s, p).units() : tiles;
  const std::int64_t blocks = s.cluster_blocks() * (s.persistent ? std::min(at_once, most) : tiles);
  return {{static_cast<unsigned>(blocks)}, {static_cast<unsigned>(s.threads())}, std::size_t(s.shared_bytes())};
}

/// Bytes of the copies of A and of B (wgmma_prepare.hpp). Transposed rows are written in whole chunks of 16 bytes.
inline Traffic copies_of(const Shape& s, const Params& p) {
  Traffic all;
  if (!s.general) return all;
  const auto [m, n, k] = matmul_shape(p);
  const auto layout = static_cast<MatmulLayout>(p.get("layout", static_cast<std::int64_t>(s.layout)));
  const auto add = [&, k = k](const char* ld, int lines, bool by_rows_of_k, bool is_transposed) {
    const double bytes = double(s.input_bytes) * lines * k;
    const bool is_readable =
        p.get(ld, by_rows_of_k ? k : lines) * s.input_bytes % 16 == 0 && p.get("shift", 0) * s.input_bytes % 16 == 0;
    if (is_readable && !is_transposed) return;
    all.loaded += bytes;
    all.stored += is_transposed ? 16.0 * lines * blocks_for(k * s.input_bytes, 16) : bytes;
  };
  add("lda", m, !has_a_by_columns(layout), has_a_by_columns(layout) != s.a_by_columns());
  add("ldb", n, has_b_by_columns(layout), has_b_by_columns(layout) != s.b_by_columns());
  return all;
}

/// Each cluster loads its rows of A and its columns of B once.
inline Traffic traffic_of(const Shape& s, const Params& p) {
  Traffic traffic = tiled_traffic(p, s.rows() * s.cluster, s.cols, s.input_bytes);
  const double partial = 4.0 * s.rows() * s.cluster * s.cols * tail_of(s, matmul_shape(p)).partial_tiles();
  const Traffic copies = copies_of(s, p);
  return {.loaded = traffic.loaded + partial + copies.loaded, .stored = traffic.stored + partial + copies.stored};
}

}  // namespace rung::wgmma

#include "gpu/matmul/wgmma/engine/wgmma_kernel.hpp"

namespace rung::wgmma {
namespace {

/// Refuses 16-bit inputs that TMA cannot read; general rungs copy them first.
inline std::string refuse(const Params& p) {
  const auto [m, n, k] = matmul_shape(p);
  const MatmulLayout layout = layout_of(p, Type::bf16);
  const bool is_readable = (has_a_by_columns(layout) ? m : k) % 8 == 0 && k % 8 == 0 && n % 8 == 0;
  return is_readable ? "" : "takes rows of A and of B that begin at multiples of 16 bytes: n and k divisible by 8";
}

/// Adds the fields that all records share.
inline Kernel common_record(Kernel kernel, Type type) {
  if (kernel.source.empty()) kernel.source = {{"ptx-isa", "wgmma"}, {"cutlass", "warp specialisation"}};
  kernel.type = type;
  kernel.is_general = stores_b_by_columns(type);
  if (kernel.is_general)
    kernel.takes = {"layout"};
  else
    kernel.refuse = refuse;
  kernel.gpu.min_compute_capability = 90;
  return kernel;
}

/// Completes and adds the record of a rung of one shape. `kernel`: its name, texts and sources.
template <Type kType, Shape kShape>
bool add_rung(Kernel kernel) {
  static constexpr Shape kOfType = shape_for(kType, kShape);
  kernel = common_record(std::move(kernel), kType);
  kernel.gpu.launch = [](const Params& p) { return launch_of(kOfType, p); };
  kernel.gpu.requested = [](const Params& p) { return traffic_of(kOfType, p); };
  kernel.run = run<kType, TileOf<kOfType>>;
  return add_gpu_kernel(std::move(kernel));
}

}  // namespace
}  // namespace rung::wgmma
