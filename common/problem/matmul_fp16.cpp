/// The product of binary16 matrices with float32 sums, as in bfloat16 (matmul_bf16.cpp).
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

const bool added = add_problem(matmul_problem(narrow_inputs(Type::fp16, to_fp16, from_fp16)));

}  // namespace
}  // namespace rung
