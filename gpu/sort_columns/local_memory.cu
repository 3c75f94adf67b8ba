/// The same code with loops that stay loops: an index is known only at run time, and registers have no addresses. So
/// the compiler puts the array into local memory, which is private global memory of each thread, laid out so that the
/// same element of neighbouring threads is contiguous. Two loads and two stores per comparison are served by L1 while
/// it holds the arrays of all resident threads: expect L1's rate, not memory's.
/// Source: Zhou, CUDA/GPU Programming (2), 2015, Memory Model.
#include "gpu/sort_columns/brick_sort.hpp"

namespace rung {
namespace {

template <int Keys>
__global__ void __launch_bounds__(kColumnThreads)
    sort_in_local_memory(const mem<float>* in, mem<float>* out, std::int64_t n) {
  Automatic<Keys> array;
  sort_column<Keys, 1>(array, in, out, n);
}

const bool added = add_gpu_kernel({
    .name = "gpu/sort_columns/local_memory",
    .order = 10,
    .title = "local memory",
    .idea = "An index that is known only at run time makes the compiler put the array into the thread's local memory.",
    .source = {{"zhou2015", "Memory Model"}, {"cuda-guide", "local memory"}},
    .gpu = {.launch = columns_launch, .requested = columns_traffic},
    .run =
        [](const Call& call) {
          ColumnKeys::pick(call.params.at("keys"),
                           [&](auto keys) { launch_columns(call, sort_in_local_memory<keys>); });
        },
});

}  // namespace
}  // namespace rung
