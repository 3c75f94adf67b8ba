/// All loops are unrolled, so each access to the array has a constant index: the array becomes one register per
/// element. What remains is one comparison of neighbours after another, 2 x 31/2 instructions per key with 32 keys:
/// expect the bandwidth of a copy, or nearly.
/// Source: Zhou, CUDA/GPU Programming (2), 2015, Memory Model.
#include "gpu/sort_columns/brick_sort.hpp"

namespace rung {
namespace {

template <int Keys>
__global__ void __launch_bounds__(kColumnThreads)
    sort_in_registers(const mem<float>* in, mem<float>* out, std::int64_t n) {
  Automatic<Keys> array;
  sort_column<Keys, Keys>(array, in, out, n);
}

const bool added = add_gpu_kernel({
    .name = "gpu/sort_columns/registers",
    .order = 40,
    .title = "registers",
    .idea = "The loops are unrolled, so every index is a constant and each element of the array is in a register.",
    .source = {{"zhou2015", "Memory Model"}, {"habermann1972"}},
    .gpu = {.launch = columns_launch, .requested = columns_traffic},
    .run =
        [](const Call& call) {
          ColumnKeys::pick(call.params.at("keys"), [&](auto keys) { launch_columns(call, sort_in_registers<keys>); });
        },
});

}  // namespace
}  // namespace rung
