/// The course's example of global memory that a block shares: each thread reads its element, stores its number in the
/// next element, and multiplies its own by the number that its left neighbour stored there. The first barrier keeps a
/// thread from storing in an element that has yet to be read (write after read), the second one from reading an element
/// that has yet to be stored (read after write). The array has one element more than threads, for the last of them, and
/// thread 0 has no neighbour, so that its element is squared. Source: Blakely, "Potential global memory access
/// problem".
#include "gpu/simt/simt.hpp"

namespace rung {
namespace {

__global__ void times_left_number(const mem<int>* in, mem<int>* array) {
  const int i = threadIdx.x;
  array[i] = in[i];  // its own element: no other thread accesses it yet
  const int x = array[i];
  __syncthreads();
  array[i + 1] = i;
  __syncthreads();
  const int y = array[i];
  array[i] = x * y;
}

const bool added = add_gpu_kernel({
    .name = "gpu/neighbours/two_barriers",
    .order = 10,
    .title = "two barriers",
    .idea = "One block: each thread stores its number in its right neighbour's element, between two barriers.",
    .source = {{"blakely", "Potential global memory access problem"}},
    .type = Type::int32,
    .gpu = {
        .launch =
            [](const Params& p) {
              return Launch{{1}, {static_cast<unsigned>(p.at("n"))}};
            },
        .requested =
            [](const Params& p) {
              const double bytes = 4.0 * p.at("n");
              return Traffic{.loaded = 3 * bytes, .stored = 3 * bytes};
            },
    },
    .run =
        [](const Call& call) {
          launch(call, times_left_number, call.operand<const mem<int>>(0), call.operand<mem<int>>(1));
        },
});

}  // namespace
}  // namespace rung
