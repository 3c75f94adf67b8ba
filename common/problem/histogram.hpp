/// What the histogram's kernels and its problem share; the problem itself is described in histogram.cpp.
#pragma once

namespace rung {

constexpr int kBins = 256;

}  // namespace rung
