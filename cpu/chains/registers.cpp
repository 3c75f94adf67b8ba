/// Multiply-adds by all threads, which keep their chains in registers: chains of single numbers, and of the widest
/// vectors that the program is compiled for, whose lanes are the threads of a block. A core starts one or two
/// multiply-adds per cycle and has each result 4 cycles later, so it takes some 4 to 8 chains to keep its units busy;
/// chains that do not fit into registers are in L1. Floor: the operations over the peak of one core per block.
#include <omp.h>

#include "common/problem/chains.hpp"
#include "cpu/ceilings/vector.hpp"

namespace rung {
namespace {

using Chains = Choices<1, 2, 3, 4, 5, 6, 8, 10, 12, 16>;

/// Each chain as it is written: not joined with its neighbours into a wider vector, nor computed in another order.
template <typename Vector>
inline void pin(Vector& value) {
#if defined(__AVX512F__)
  asm("" : "+v"(value));
#elif defined(__x86_64__)
  asm("" : "+x"(value));
#else
  asm("" : "+w"(value));
#endif
}

/// The chains of one block.
template <typename Vector, int Each>
void iterate(const Vector* x, const float* coefficients, Vector* y, std::int64_t iterations) {
  const Vector a0 = coefficients[0] - Vector{}, b0 = coefficients[1] - Vector{};  // in every lane
  const Vector a1 = coefficients[2] - Vector{}, b1 = coefficients[3] - Vector{};
  Vector value[Each];
#pragma GCC unroll 16
  for (int j = 0; j < Each; ++j) {
    value[j] = x[j];
    pin(value[j]);
  }
  for (; iterations > 0; iterations -= 2) {
#pragma GCC unroll 16
    for (int j = 0; j < Each; ++j) {
      value[j] = value[j] * a0 + b0;
      pin(value[j]);
    }
#pragma GCC unroll 16
    for (int j = 0; j < Each; ++j) {
      value[j] = value[j] * a1 + b1;
      pin(value[j]);
    }
  }
#pragma GCC unroll 16
  for (int j = 0; j < Each; ++j) y[j] = value[j];
}

template <typename Vector>
void run(const Call& call) {
  const auto* x = call.operand<const Vector>(0);
  const auto* coefficients = call.operand<const float>(1);
  auto* y = call.operand<Vector>(2);
  const std::int64_t blocks = call.params.at("blocks"), iterations = call.params.at("iterations");
  Chains::pick(call.params.at("each"), [&](auto each) {
#pragma omp parallel for schedule(static)
    for (std::int64_t b = 0; b < blocks; ++b)
      iterate<Vector, each>(x + b * each, coefficients, y + b * each, iterations);
  });
}

template <typename Vector>
bool add(int order, const std::string& variant, const std::string& title, const std::string& idea) {
  constexpr std::int64_t kLanes = sizeof(Vector) / sizeof(float);
  return add_kernel({
      .name = "cpu/chains/" + variant,
      .order = order,
      .title = title,
      .idea = idea,
      .source = {{"williams2009", "in-core ceilings"}},
      .refuse = [](const Params& p) -> std::string {
        if (p.at("block") != kLanes) return "block must be the number of lanes, " + std::to_string(kLanes);
        bool is_built = false;
        Chains::pick(p.at("each"), [&](auto) { is_built = true; });
        return is_built ? "" : "is built for 1 to 6, 8, 10, 12 or 16 chains a thread";
      },
      .sizes =
          [] {
            return Params{{"units", omp_get_max_threads()}, {"block", std::int64_t{kLanes}}, {"each", 8}};
          },
      .run = run<Vector>,
  });
}

const bool added =
    add<float>(10, "scalar", "scalar", "Each thread iterates a few independent chains of single multiply-adds.") &&
    add<FloatVector>(20, "vector", "vector",
                     "Each thread iterates a few independent chains of vectors of multiply-adds.");

}  // namespace
}  // namespace rung
