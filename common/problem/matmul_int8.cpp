/// The product of matrices of 8-bit whole numbers with int32 sums and an int32 result: exact, so every kernel must give
/// the same. The largest sum, 32768 x 128 x 128, is 2^29. B is stored by columns.
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

MatmulInputs inputs() {
  MatmulInputs format = narrow_inputs<std::int8_t>(
      Type::int8, [](float x) { return static_cast<std::int8_t>(x); },
      [](std::int8_t x) { return static_cast<float>(x); });
  format.output = Type::int32;
  format.only_whole = true;
  format.least = -128, format.most = 127;
  return format;
}

const bool added = add_problem(matmul_problem(inputs()));

}  // namespace
}  // namespace rung
