/// Accesses of 4, 8 and 16 bytes, and one or several loads from each array before the first addition. A 16-byte load is
/// one instruction and one request of a warp for 512 bytes. The number of bytes that a thread has in flight matters:
/// four loads of 4 bytes and one of 16 should be equally fast, both near the roof; one of 4 bytes should not.
#include <type_traits>

#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

using Loads = Choices<1, 2, 4>;

__device__ inline reg<float> plus(reg<float> x, reg<float> y) { return x + y; }
__device__ inline float2 plus(const float2& x, const float2& y) { return make_float2(x.x + y.x, x.y + y.y); }
__device__ inline float4 plus(const float4& x, const float4& y) {
  return make_float4(x.x + y.x, x.y + y.y, x.z + y.z, x.w + y.w);
}

template <typename Vector, int InFlight>
__global__ void add_vectors(const mem<float>* a, const mem<float>* b, mem<float>* c, std::int64_t n) {
  constexpr int kWidth = sizeof(Vector) / sizeof(float);
  using Element = std::conditional_t<kWidth == 1, reg<float>, Vector>;  // a thread's value from an access
  const mem<Vector>* left = vector_cast<Vector>(a);
  const mem<Vector>* right = vector_cast<Vector>(b);
  mem<Vector>* sum = vector_cast<Vector>(c);
  const std::int64_t vectors = n / kWidth;
  const std::int64_t first = std::int64_t{blockIdx.x} * blockDim.x * InFlight + threadIdx.x;
  const std::int64_t step = blockDim.x;  // neighbouring threads on neighbouring vectors, load by load
  Element x[InFlight] = {}, y[InFlight] = {};
  for (int j = 0; j < InFlight; ++j)
    if (first + j * step < vectors) x[j] = left[first + j * step];
  for (int j = 0; j < InFlight; ++j)
    if (first + j * step < vectors) y[j] = right[first + j * step];
  for (int j = 0; j < InFlight; ++j)
    if (first + j * step < vectors) sum[first + j * step] = plus(x[j], y[j]);
  // The last elements, fewer than a vector, are for the first threads of the grid.
  const std::int64_t tail = vectors * kWidth + std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (kWidth > 1 && tail < n) c[tail] = a[tail] + b[tail];
}

template <typename Vector>
void add(const Call& call) {
  Loads::pick(call.params.at("loads"), [&](auto loads) {
    launch(call, add_vectors<Vector, loads>, call.operand<const mem<float>>(0), call.operand<const mem<float>>(1),
           call.operand<mem<float>>(2), call.params.at("n"));
  });
}

const bool added = add_gpu_kernel({
    .name = "gpu/vector_addition/vectors",
    .order = 40,
    .title = "wide accesses",
    .idea = "Each thread adds one or several vectors of 4, 8 or 16 bytes, all loaded before the first is added.",
    .source = {{"luitjens2013"}, {"little1961"}, {"blakely", "vector types"}},
    .tunables = {{"width", {16, 8, 4}}, {"loads", Loads::values()}, {"threads", {256, 128, 512, 1024}}},
    .gpu = {
        .launch =
            [](const Params& p) {
              const std::int64_t threads = p.at("threads");
              const std::int64_t elements = threads * p.at("loads") * p.at("width") / 4;  // per block
              return Launch{{blocks_for(p.at("n"), elements)}, {static_cast<unsigned>(threads)}};
            },
        .requested = [](const Params& p) { return Traffic{.loaded = 8.0 * p.at("n"), .stored = 4.0 * p.at("n")}; },
    },
    .run =
        [](const Call& call) {
          const std::int64_t width = call.params.at("width");
          if (width == 16) add<float4>(call);
          if (width == 8) add<float2>(call);
          if (width == 4) add<float>(call);
        },
});

}  // namespace
}  // namespace rung
