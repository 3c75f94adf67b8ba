/// The product of matrices in FP8 (E4M3) with float32 sums. Tensor cores of compute capability 9.0 keep about 14 bits
/// while they add up FP8 products, whatever the type of the sum, so a kernel adds sums of at most 128 terms to others
/// in float32: judged are sums of that precision. Whole numbers are from -2 to 2: 128 products of them fit 14 bits. B
/// is stored by columns. Source: DeepSeek-AI: DeepSeek-V3 Technical Report, 2024, section 3.3.2.
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

MatmulInputs inputs() {
  MatmulInputs format = narrow_inputs(Type::fp8, to_fp8, from_fp8);
  format.least = -2, format.most = 2;
  format.unit = 0x1p-13, format.terms = 128;
  return format;
}

const bool added = add_problem(matmul_problem(inputs()));

}  // namespace
}  // namespace rung
