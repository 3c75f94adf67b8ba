/// The fastest recipe of gpu/matmul/top at each size that was tuned. Written by experiments/tune.py.
#pragma once

namespace rung::hopper {

struct Tuned {
  int m, n, k, recipe;
};

/// NVIDIA H200
// clang-format off
inline constexpr Tuned kTuned[] = {
    {64, 64, 64, 8},
    {64, 64, 4096, 9},
    {64, 4096, 4096, 5},
    {128, 128, 128, 8},
    {256, 256, 256, 8},
    {256, 256, 16384, 5},
    {384, 384, 384, 6},
    {512, 512, 512, 6},
    {768, 768, 768, 4},
    {1000, 1000, 1000, 3},
    {1024, 1024, 1024, 3},
    {1024, 1024, 16384, 2},
    {1024, 8192, 1024, 2},
    {1536, 1536, 1536, 2},
    {2048, 2048, 2048, 2},
    {3072, 3072, 3072, 2},
    {4095, 4095, 4095, 2},
    {4096, 64, 4096, 6},
    {4096, 4096, 256, 2},
    {4096, 4096, 4096, 2},
    {8192, 1024, 1024, 2},
    {8192, 8192, 8192, 2},
    {16384, 16384, 16384, 2},
};
// clang-format on

}  // namespace rung::hopper
