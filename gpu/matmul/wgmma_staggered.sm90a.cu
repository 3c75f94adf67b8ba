/// While a warpgroup stores its 64 x 256 sums, it does not multiply. If both store at the same time, the tensor cores
/// rest: 128 KB at the 32 bytes that a multiprocessor writes in a clock are 4096 clocks of the 65536 that a tile takes
/// at N = 4096. So the second warpgroup begins two steps after the first, and stays behind: while one stores, the other
/// one multiplies, and one alone keeps the tensor cores busy. The ring holds what the first has read and the second has
/// not. Launches overlap, too: a block is set up while the previous kernel ends.
/// Floor: operations over the rate of the tensor cores; 2 N^3 / 919 TFLOP/s on an H200, 150 us at N = 4096.
/// Source: CUTLASS, ping-pong kernels (there the warpgroups have tiles of their own); NVIDIA, CUDA C++ Programming
/// Guide, programmatic dependent launch.
#include "gpu/matmul/wgmma_shapes.hpp"

namespace rung {
namespace {

/// Its launch is the same for each lead.
template <Type kType>
constexpr wgmma::Shape kAny = wgmma::shape_for(kType, wgmma::large(256, 0));
using Leads = Choices<2, 1, 3, 0>;

template <Type kType, int kLead>
void run_with(const Call& call) {
  constexpr wgmma::Shape kShape = wgmma::shape_for(kType, wgmma::large(256, kLead));
  wgmma::run<kType, wgmma::TileOf<kShape>>(call);
}

template <Type kType>
bool add(const char* name) {
  Kernel kernel = wgmma::common_record(
      {
          .name = name,
          .order = 360,
          .title = "wgmma, staggered",
          .idea = "The second warpgroup follows the first by two steps, so that one multiplies while the other stores.",
          .source = {{"ptx-isa", "wgmma, griddepcontrol"}, {"cutlass", "ping-pong kernels"}},
          .tunables = {{"lead", Leads::values()}, {"group_rows", {8, 4, 16}}},
      },
      kType);
  kernel.gpu.launch = [](const Params& p) { return wgmma::launch_of(kAny<kType>, p); };
  kernel.gpu.requested = [](const Params& p) { return wgmma::traffic_of(kAny<kType>, p); };
  kernel.run = [](const Call& call) {
    Leads::pick(call.params.at("lead"), [&](auto lead) { run_with<kType, decltype(lead)::value>(call); });
  };
  return add_gpu_kernel(std::move(kernel));
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_staggered_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_staggered_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_staggered_tf32");

}  // namespace
}  // namespace rung
