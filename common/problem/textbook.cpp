/// The matrix product again, for kernels that differ in the memory that serves their loads. Rows may have gaps (lda,
/// ldb, ldc), which every kernel here supports. Judged as any product (common/problem/matmul.cpp).
#include "common/problem/matmul.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

Problem textbook_problem() {
  Problem problem = matmul_problem({});
  problem.family = "textbook";
  problem.title = "Matrix multiplication with and without caches";
  problem.size_names = {"n", "m", "k", "lda", "ldb", "ldc"};
  problem.general_names.clear();
  problem.size_words.clear();
  problem.special_names.clear();
  problem.unusual = nullptr;
  std::erase_if(problem.test_sizes, [](const Params& sizes) { return sizes.has("layout"); });
  problem.test_sizes.push_back({{"n", 64}, {"lda", 80}, {"ldb", 65}, {"ldc", 97}});
  problem.test_sizes.push_back({{"m", 31}, {"n", 270}, {"k", 33}, {"lda", 40}, {"ldb", 300}, {"ldc", 271}});
  return problem;
}

const bool added = add_problem(textbook_problem());

}  // namespace
}  // namespace rung
