/// Shared memory read at a stride. It has 32 banks of 4 bytes, and a request takes as many wavefronts as its busiest
/// bank has distinct words: one if neighbouring lanes read neighbouring words, 32 if they read words 32 apart. One
/// element of padding in every row of 128 bytes shifts each row by a bank, which makes columns cheap. Each block loads
/// its slice of the array once and reads it `passes` times, every element once per pass.
#include "common/machine/device_facts.hpp"
#include "gpu/ceilings/quad.hpp"

namespace rung {
namespace {

constexpr int kThreads = 1024;
constexpr int kBlocksPerSm = 2;  // 2048 threads: every slot of a multiprocessor
constexpr int kSliceBytes = 32 * 1024;
constexpr int kRowBytes = 128;  // one word in each bank
constexpr int kMostStride = 32;

using Widths = Choices<4, 8, 16>;

__device__ __forceinline__ std::uint32_t sum_of(std::uint32_t x) { return x; }
__device__ __forceinline__ std::uint32_t sum_of(const uint2& x) { return x.x + x.y; }
__device__ __forceinline__ std::uint32_t sum_of(const uint4& x) { return total(x); }

/// The i-th element in an order in which the next one is `stride` further (modulo their number, a power of two) and
/// each comes once: the multiples of the stride, then the multiples plus one, and so on.
__device__ __forceinline__ int element_at(int i, int stride, int elements) {
  const int even = stride & -stride;  // the stride's power of two: its multiples repeat this often
  return i * stride % elements + i / (elements / even);
}

template <typename Element>
__global__ void read_shared_strided(const mem<Element>* data, mem<std::uint32_t>* partials, unsigned elements,
                                    int passes, int stride, int padding, int zero) {
  constexpr int kSlice = kSliceBytes / sizeof(Element), kRow = kRowBytes / sizeof(Element);
  constexpr int kPerThread = kSlice / kThreads;
  __shared__ mem<Element> slice[kSlice + kSlice / kRow];
  const int tx = threadIdx.x;
  for (int i = tx; i < kSlice; i += kThreads) {
    Element element = {};
    if (blockIdx.x * kSlice + i < elements) element = data[blockIdx.x * kSlice + i];
    slice[i + padding * (i / kRow)] = element;
  }
  __syncthreads();

  int index[kPerThread];
  for (int k = 0; k < kPerThread; ++k) {
    const int element = element_at((tx / 32 * kPerThread + k) * 32 + tx % 32, stride, kSlice);
    index[k] = element + padding * (element / kRow);
  }
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    const int moved =
        static_cast<int>(sum) & zero;  // by 0, which the compiler must not know: it would read once for all passes
    for (int k = 0; k < kPerThread; ++k) {
      const Element element = slice[index[k] + moved];
      sum += sum_of(element);
    }
  }
  store_partials<kThreads>(sum, partials);
}

unsigned blocks_of(const Params& p) { return blocks_for(p.at("bytes"), kSliceBytes); }

std::vector<Value> strides() {
  std::vector<Value> all;
  for (int i = 1; i <= kMostStride; ++i) all.emplace_back(i);
  return all;
}

const bool added = add_gpu_kernel({
    .name = "gpu/read/shared_strided",
    .order = 40,
    .title = "shared memory, strided",
    .idea = "Lanes read shared memory at a stride, with or without an element of padding in each row.",
    .source = {{"zhou2015", "Shared memory: full speed random access"}, {"cuda-guide", "shared memory banks"}},
    .type = Type::uint32,
    .tunables = {{.name = "stride", .values = strides(), .what = "elements from lane to lane"},
                 {"width", Widths::values()},
                 {"padding", {0, 1}}},
    .refuse = [](const Params& p) -> std::string {
      return blocks_of(p) > kReadPartials ? "reads at most as much as 4096 blocks of threads hold in shared memory"
                                          : "";
    },
    .sizes =
        [] {
          return Params{{"bytes", std::int64_t{gpu_facts().sm_count} * kBlocksPerSm * kSliceBytes}, {"passes", 1024}};
        },
    .gpu =
        {
            .launch =
                [](const Params& p) {
                  return Launch{{blocks_of(p)}, {kThreads}};
                },
            .requested =
                [](const Params& p) {
                  return Traffic{.loaded = static_cast<double>(p.at("bytes")), .stored = 4.0 * kReadPartials};
                },
        },
    .run =
        [](const Call& call) {
          const auto run = [&](auto element) {
            using Element = decltype(element);
            launch(call, read_shared_strided<Element>, call.operand<const mem<Element>>(0),
                   call.operand<mem<std::uint32_t>>(1),
                   static_cast<unsigned>(call.params.at("bytes") / sizeof(Element)),
                   static_cast<int>(call.params.at("passes")), static_cast<int>(call.params.at("stride")),
                   static_cast<int>(call.params.at("padding")), 0);
          };
          switch (call.params.at("width")) {
            case 4:
              return run(std::uint32_t{});
            case 8:
              return run(uint2{});
            default:
              return run(uint4{});
          }
        },
});

}  // namespace
}  // namespace rung
