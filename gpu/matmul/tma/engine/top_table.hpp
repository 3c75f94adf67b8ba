/// The fastest recipe of gpu/matmul/top at each size that was tuned. Written by experiments/tune.py.
#pragma once

namespace rung::hopper {

struct Tuned {
  int m, n, k;
  const char* recipe;  ///< one of recipe_words()
};

/// NVIDIA H200
// clang-format off
inline constexpr Tuned kTuned[] = {
    {64, 64, 64, "32x32"},
    {64, 64, 4096, "32x32_split_k"},
    {64, 4096, 4096, "64x128_split_k"},
    {128, 128, 128, "32x32"},
    {256, 256, 256, "64x32"},
    {256, 256, 16384, "128x64_split_k"},
    {333, 333, 333, "64x32"},
    {333, 777, 555, "64x128_split_k"},
    {384, 384, 384, "64x32"},
    {511, 511, 511, "64x32"},
    {512, 512, 512, "64x32"},
    {768, 768, 768, "128x64_stream_k"},
    {1000, 1000, 1000, "128x64"},
    {1000, 2047, 513, "128x128"},
    {1000, 2048, 512, "128x128"},
    {1023, 1023, 1023, "128x128_stream_k"},
    {1024, 1024, 1024, "128x64"},
    {1024, 1024, 16384, "128x64_stream_k"},
    {1024, 8192, 1024, "128x256_stream_k"},
    {1536, 1536, 1536, "128x128_stream_k"},
    {1537, 1537, 1537, "128x128_stream_k"},
    {2047, 2047, 2047, "128x256_stream_k"},
    {2048, 1000, 512, "128x128"},
    {2048, 2048, 2048, "128x256_stream_k"},
    {3072, 3072, 3072, "128x256_stream_k"},
    {4095, 4095, 4095, "128x256_stream_k"},
    {4096, 64, 4096, "128x64_split_k"},
    {4096, 4096, 256, "128x256"},
    {4096, 4096, 4096, "128x256_stream_k"},
    {8192, 1024, 1024, "128x256_stream_k"},
    {8192, 8192, 8192, "128x256_stream_k"},
    {16384, 16384, 16384, "128x256_stream_k"},
};
// clang-format on

}  // namespace rung::hopper
