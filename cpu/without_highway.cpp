/// The micro-kernel of a program that was built without Highway: the rungs that need it report that, and everything
/// else works.
#include "cpu/matmul/micro_kernel.hpp"

namespace rung {

const MicroKernels& micro_kernels(std::int64_t bits) { throw Error(refuse_simd({{"simd", bits}})); }

Tunable simd_tunable() {
  const std::vector<std::int64_t> all = simd_bits();
  return {.name = "simd", .values = {all.begin(), all.end()}};
}

std::string refuse_simd(const Params&) { return "built without Highway: install libhwy-dev and build again"; }

}  // namespace rung
