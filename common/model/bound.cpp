#include "common/model/bound.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "common/registry.hpp"

namespace rung {
namespace {

void require(bool good, const char* what, double value, const char* rule) {
  // Written so that NaN, which compares false with everything, is refused too.
  if (good && std::isfinite(value)) return;
  std::ostringstream message;
  message << what << " of " << value << " makes no sense: give " << rule;
  throw Error(message.str());
}

void require_positive(const char* what, double value) { require(value > 0, what, value, "a positive number"); }

}  // namespace

double attainable_gflops(double peak_gflops, double gbytes_per_s, double op_per_byte) {
  require_positive("a peak in GFLOP/s", peak_gflops);
  require_positive("a bandwidth in GB/s", gbytes_per_s);
  require(op_per_byte >= 0, "a ratio in OP/B", op_per_byte, "zero or a positive number");
  return std::min(peak_gflops, op_per_byte * gbytes_per_s);
}

double ridge_op_per_byte(double peak_gflops, double gbytes_per_s) {
  require_positive("a peak in GFLOP/s", peak_gflops);
  require_positive("a bandwidth in GB/s", gbytes_per_s);
  return peak_gflops / gbytes_per_s;
}

double required_gbytes_per_s(double gflops, double op_per_byte) {
  require_positive("a rate in GFLOP/s", gflops);
  require_positive("a ratio in OP/B", op_per_byte);
  return gflops / op_per_byte;
}

double matmul_op_per_byte(int tile) {
  require_positive("a tile width", tile);
  constexpr double kOperations = 2, kLoadedBytes = 2 * sizeof(float);
  return kOperations / kLoadedBytes * tile;
}

Bound bound(double peak_gflops, double gbytes_per_s, double op_per_byte) {
  const double gflops = attainable_gflops(peak_gflops, gbytes_per_s, op_per_byte);
  return {.gflops = gflops, .fraction_of_peak = gflops / peak_gflops, .memory_bound = gflops < peak_gflops};
}

Bound bound(const Device& device, double op_per_byte) {
  return bound(device.peak_fp32_gflops, device.dram_gbytes_per_s, op_per_byte);
}

}  // namespace rung
