/// Each thread has its array in shared memory, which takes any index at run time. The layout decides the rate: "by_key"
/// puts the same element of neighbouring threads side by side, as local memory does, so a warp accesses 32 banks;
/// "padded" keeps a thread's array contiguous with one unused element after it, which also spreads the threads over the
/// banks; without padding ("by_thread") all 32 lanes access one bank, since an array's length is a power of two. Shared
/// memory limits the resident threads: 32 keys take 128 bytes per thread.
#include "gpu/sort_columns/brick_sort.hpp"

namespace rung {
namespace {

/// The tunable's words, in this order.
enum Layout { kByKey, kPadded, kByThread };

struct Shared {
  mem<float>* first;
  int step;  ///< from one element of the array to the next
  __device__ __forceinline__ reg<float> get(int place) const {
    const reg<float> key = first[place * step];
    return key;
  }
  __device__ __forceinline__ void put(int place, reg<float> key) { first[place * step] = key; }
};

/// Elements of shared memory that a thread's array takes.
template <Layout layout>
__host__ __device__ constexpr int pitch(int keys) {
  return layout == kPadded ? keys + 1 : keys;
}

template <int Keys, Layout layout>
__global__ void __launch_bounds__(kColumnThreads)
    sort_in_shared_memory(const mem<float>* in, mem<float>* out, std::int64_t n) {
  __shared__ mem<float> arrays[kColumnThreads * pitch<layout>(Keys)];
  const int t = threadIdx.x;
  Shared array{arrays + (layout == kByKey ? t : t * pitch<layout>(Keys)), layout == kByKey ? kColumnThreads : 1};
  sort_column<Keys, 1>(array, in, out, n);  // no barrier: no other thread uses this array
}

const bool added = add_gpu_kernel({
    .name = "gpu/sort_columns/shared_memory",
    .order = 30,
    .title = "shared memory",
    .idea = "Shared memory takes an index at run time; the layout of the threads' arrays decides on bank conflicts.",
    .source = {{"zhou2015", "Memory Model"}, {"cuda-best-practices", "shared memory and memory banks"}},
    .tunables = {{"layout", words({"by_key", "padded", "by_thread"})}},
    .gpu = {.launch = columns_launch, .requested = columns_traffic},
    .run =
        [](const Call& call) {
          ColumnKeys::pick(call.params.at("keys"), [&](auto keys) {
            Choices<kByKey, kPadded, kByThread>::pick(call.params.at("layout"), [&](auto layout) {
              launch_columns(call, sort_in_shared_memory<keys, static_cast<Layout>(layout.value)>);
            });
          });
        },
});

}  // namespace
}  // namespace rung
