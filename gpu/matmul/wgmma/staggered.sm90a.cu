/// While a warpgroup stores its 64 x 256 sums, it does not multiply. If both store at the same time, the tensor cores
/// are idle: 128 KB at the 32 bytes that a multiprocessor writes per clock are 4096 clocks of the 65536 that a tile
/// takes at N = 4096. Both read the same tiles of the ring, so they end together, however far ahead one began. So the
/// second warpgroup delays the last four steps of each tile, all that the ring holds, until the first has multiplied
/// them. Then it multiplies while the first stores, and the first multiplies the next tile while the second stores. One
/// alone keeps the tensor cores busy. Launches overlap, too: a block is set up while the previous kernel ends. Floor:
/// operations over the rate of the tensor cores (gpu/fma). Source: CUTLASS, ping-pong kernels (there each warpgroup has
/// its own tiles); NVIDIA, CUDA C++ Programming Guide, programmatic dependent launch.
#include "gpu/matmul/wgmma/engine/wgmma_shapes.hpp"

namespace rung {
namespace {

/// The launch is the same for any number of steps in turn.
template <Type kType>
constexpr wgmma::Shape kAny = wgmma::shape_for(kType, wgmma::large(256));
using Steps = Choices<4, 2, 0>;

template <Type kType, int kSteps>
void run_with(const Call& call) {
  constexpr wgmma::Shape kShape = wgmma::shape_for(kType, wgmma::in_turn(wgmma::large(256), kSteps));
  wgmma::run<kType, wgmma::TileOf<kShape>>(call);
}

template <Type kType>
bool add(const char* name) {
  Kernel kernel = wgmma::common_record(
      {
          .name = name,
          .order = 360,
          .title = "wgmma, staggered",
          .idea = "The warpgroups multiply a tile's last four steps one after the other, so that one multiplies while "
                  "the other stores.",
          .source = {{"ptx-isa", "wgmma, griddepcontrol"}, {"cutlass", "ping-pong kernels"}},
          .tunables = {{"in_turn", Steps::values()}, {"group_rows", {8, 4, 16}}},
      },
      kType);
  kernel.gpu.launch = [](const Params& p) { return wgmma::launch_of(kAny<kType>, p); };
  kernel.gpu.requested = [](const Params& p) { return wgmma::traffic_of(kAny<kType>, p); };
  kernel.run = [](const Call& call) {
    Steps::pick(call.params.at("in_turn"), [&](auto steps) { run_with<kType, decltype(steps)::value>(call); });
  };
  return add_gpu_kernel(std::move(kernel));
}

const bool added = add<Type::bf16>("gpu/matmul/wgmma_staggered_bf16") &&
                   add<Type::fp16>("gpu/matmul/wgmma_staggered_fp16") &&
                   add<Type::tf32>("gpu/matmul/wgmma_staggered_tf32");

}  // namespace
}  // namespace rung
