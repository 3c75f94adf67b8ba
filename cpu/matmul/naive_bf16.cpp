/// The triple loop on bfloat16: each element is converted to float32, which is exact, and the products are summed in
/// float32. One thread. It moves half the bytes of float32, but without instructions for bfloat16 each conversion costs
/// a shift. Source: the definition of the product.
#include "common/problem/matmul.hpp"

namespace rung {
namespace {

void matmul_naive(const Matmul<Bf16>& it) {
  if (it.alpha == 0) return scale_output(it);
  for (std::int64_t row = 0; row < it.m; ++row)
    for (std::int64_t col = 0; col < it.n; ++col) {
      float sum = 0;
      for (std::int64_t i = 0; i < it.k; ++i)
        sum += from_bf16(it.a[row * it.lda + i]) * from_bf16(it.b[i * it.ldb + col]);
      float& element = it.c[row * it.ldc + col];
      element = it.alpha * sum + (it.beta == 0 ? 0 : it.beta * element);
    }
}

const bool added = add_kernel({
    .name = "cpu/matmul/naive_bf16",
    .order = 10,
    .title = "naive",
    .idea =
        "The textbook's triple loop on one thread, with inputs of half the size, converted to FP32 and summed in it.",
    .source = {{"golub2013", "section 1.1"}},
    .type = Type::bf16,
    .is_general = true,
    .cpu = {.is_serial = true},
    .run = [](const Call& call) { matmul_naive(matmul_of<Bf16>(call)); },
});

}  // namespace
}  // namespace rung
