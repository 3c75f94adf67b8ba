/// The product of bfloat16 matrices with float32 sums. The inputs are rounded first, and the reference is made from
/// what is stored: judged is the arithmetic, not the rounding of the inputs.
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

const bool added = add_problem(matmul_problem(narrow_inputs(Type::bf16, to_bf16, from_bf16)));

}  // namespace
}  // namespace rung
