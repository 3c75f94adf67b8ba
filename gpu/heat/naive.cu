/// One thread per cell: five loads and a store. L1 serves most of the neighbours, so DRAM is read little more than
/// once; but each thread has only one new element in flight, and all threads together have too few bytes in flight to
/// saturate DRAM. The block's shape decides how many rows and sectors of halo it loads. Source: Blakely, Laplace's
/// equation and memory bandwidth.
#include "gpu/heat/one_step.hpp"

namespace rung {
namespace {

__global__ void heat_naive(const mem<float>* u, mem<float>* next, HeatGrid g) {
  const int row = blockIdx.y * blockDim.y + threadIdx.y;
  const int col = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= g.rows || col >= g.cols) return;
  const int at = row * g.cols + col;
  const reg<float> north = row > 0 ? u[at - g.cols] : 0.0f;
  const reg<float> south = row + 1 < g.rows ? u[at + g.cols] : 0.0f;
  const reg<float> west = col > 0 ? u[at - 1] : 0.0f;
  const reg<float> east = col + 1 < g.cols ? u[at + 1] : 0.0f;
  next[at] = g.centre * u[at] + g.side * ((north + south) + (west + east));
}

struct Block {
  unsigned cols, rows;
};
constexpr Block kBlocks[] = {{256, 1}, {128, 2}, {64, 4}, {32, 8}, {16, 16}, {32, 32}};

const bool added = add_gpu_kernel({
    .name = "gpu/heat/naive",
    .order = 10,
    .title = "naive",
    .idea = "One thread per cell, which loads its four neighbours from global memory.",
    .source = {{"blakely", "Laplace's equation and memory bandwidth"}},
    .tunables = {{"block", words({"256x1", "128x2", "64x4", "32x8", "16x16", "32x32"})}},
    .scratch = one_step_scratch,
    .gpu = {
        .launch =
            [](const Params& p) {
              const auto [cols, rows] = kBlocks[p.at("block")];
              return Launch{{blocks_for(p.at("n"), cols), blocks_for(p.at("m"), rows)}, {cols, rows}};
            },
        .requested =
            [](const Params& p) {  // cells at the edge have fewer neighbours
              return one_step_traffic(p, 5 * heat_cells(p) - 2.0 * (p.at("m") + p.at("n")));
            },
    },
    .run = [](const Call& call) { run_steps(call, heat_naive); },
});

}  // namespace
}  // namespace rung
