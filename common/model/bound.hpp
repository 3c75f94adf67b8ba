/// The roofline bound: what a kernel of a given compute-to-global-memory ratio can reach at most.
/// Williams, Waterman, Patterson, "Roofline", CACM 2009; PMPP 4e §5.1 and §5.4.
#pragma once

#include "common/model/devices.hpp"

namespace rung {

struct Bound {
  double gflops = 0;            ///< attainable, GFLOP/s
  double fraction_of_peak = 0;  ///< 0..1
  bool memory_bound = false;    ///< left of the ridge: memory, not arithmetic, sets the bound
};

/// min(peak, ratio x bandwidth) in GFLOP/s; `gbytes_per_s` is decimal. Throws Error unless peak and bandwidth are
/// positive and the ratio is not negative.
double attainable_gflops(double peak_gflops, double gbytes_per_s, double op_per_byte);

/// The ratio in OP/B from which on the peak is within reach. Throws Error unless both are positive.
double ridge_op_per_byte(double peak_gflops, double gbytes_per_s);

/// The bandwidth in GB/s that `gflops` need at this ratio. Throws Error unless both are positive.
double required_gbytes_per_s(double gflops, double op_per_byte);

/// OP/B that matrix multiplication in FP32 requests with square tiles of `tile`: two operations for two loads of
/// 4 bytes, each load shared by `tile` threads. Tile 1 is the naive kernel: 0.25. Throws Error unless positive.
double matmul_op_per_byte(int tile);

/// min(peak, ratio x bandwidth) with its place on the roofline. Throws as attainable_gflops does.
Bound bound(double peak_gflops, double gbytes_per_s, double op_per_byte);

/// The bound of `device` in FP32 by its data sheet. Throws as attainable_gflops does.
Bound bound(const Device& device, double op_per_byte);

}  // namespace rung
