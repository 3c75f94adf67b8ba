/// Indices known only at run time and yet no local memory: to read a place, all elements are read and one is selected;
/// to write a place, each element is replaced or kept. Registers only, but an access takes one instruction per element
/// of the array: expect a rate that falls with the square of their number. It pays only for the shortest arrays.
#include "gpu/sort_columns/brick_sort.hpp"

namespace rung {
namespace {

template <int Keys>
struct Selected {
  reg<float> keys[Keys];
  __device__ __forceinline__ reg<float> get(int place) const {
    reg<float> key = keys[0];
#pragma unroll
    for (int i = 1; i < Keys; ++i) key = i == place ? keys[i] : key;
    return key;
  }
  __device__ __forceinline__ void put(int place, reg<float> key) {
#pragma unroll
    for (int i = 0; i < Keys; ++i) keys[i] = i == place ? key : keys[i];
  }
};

template <int Keys>
__global__ void __launch_bounds__(kColumnThreads)
    sort_by_selects(const mem<float>* in, mem<float>* out, std::int64_t n) {
  Selected<Keys> array;
  sort_column<Keys, 1>(array, in, out, n);
}

const bool added = add_gpu_kernel({
    .name = "gpu/sort_columns/selects",
    .order = 20,
    .title = "selects",
    .idea = "Each access goes through all elements and selects one, so that they can stay in registers.",
    .source = {{"cuda-guide", "local memory"}},
    .gpu = {.launch = columns_launch, .requested = columns_traffic},
    .run =
        [](const Call& call) {
          ColumnKeys::pick(call.params.at("keys"), [&](auto keys) { launch_columns(call, sort_by_selects<keys>); });
        },
});

}  // namespace
}  // namespace rung
