/// The product of float32 matrices that are rounded to TF32 first, with float32 sums. As the inputs have no more bits
/// than tensor cores read, their products are exact, and the sums are judged as for 16-bit inputs. B is stored by
/// columns.
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

MatmulInputs inputs() {
  MatmulInputs format = narrow_inputs<float>(Type::tf32, to_tf32, [](float x) { return x; });
  format.widen = {};  // they are float32
  return format;
}

const bool added = add_problem(matmul_problem(inputs()));

}  // namespace
}  // namespace rung
