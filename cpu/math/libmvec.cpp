/// The C library's vector functions: one register of elements at a time. The compiler calls them in a loop that is
/// declared to be vectorisable, for a function that is declared to have such variants.
#include "cpu/math/implementation.hpp"

// From version 2.35 on glibc has all of these; other compilers declare vector variants differently.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GLIBC_PREREQ(2, 35)
#define RUNG_LIBMVEC
#endif
#endif

#ifdef RUNG_LIBMVEC
extern "C" {
#pragma omp declare simd notinbranch
float expf(float) noexcept;
#pragma omp declare simd notinbranch
float exp2f(float) noexcept;
#pragma omp declare simd notinbranch
float logf(float) noexcept;
#pragma omp declare simd notinbranch
float sinf(float) noexcept;
#pragma omp declare simd notinbranch
float cosf(float) noexcept;
#pragma omp declare simd notinbranch
float tanf(float) noexcept;
#pragma omp declare simd notinbranch
float powf(float, float) noexcept;
}
#endif

namespace rung {
namespace {

const Kernel kRecord{
    .name = "cpu/math/libmvec",
    .order = 20,
    .title = "libmvec",
    .idea = "The C library's vector functions: one register of elements per call.",
    .source = {{"glibc", "libmvec"}},
    .is_library = true,
};

#ifdef RUNG_LIBMVEC

struct Libmvec {
  static constexpr bool has(MathFunction f) { return f <= MathFunction::pow; }

  template <MathFunction kFunction>
  static void of(const float* x, [[maybe_unused]] const float* y, float* result) {
#pragma omp simd
    for (std::int64_t i = 0; i < kMathBlock; ++i) {
      if constexpr (kFunction == MathFunction::exp) result[i] = expf(x[i]);
      if constexpr (kFunction == MathFunction::exp2) result[i] = exp2f(x[i]);
      if constexpr (kFunction == MathFunction::log) result[i] = logf(x[i]);
      if constexpr (kFunction == MathFunction::sin) result[i] = sinf(x[i]);
      if constexpr (kFunction == MathFunction::cos) result[i] = cosf(x[i]);
      if constexpr (kFunction == MathFunction::tan) result[i] = tanf(x[i]);
      if constexpr (kFunction == MathFunction::pow) result[i] = powf(x[i], y[i]);
    }
  }

  template <MathFunction>
  static double bound(float, float, double want) {
    return 4 * ulp(want);
  }
};

const bool added = add_math<Libmvec>(kRecord);

#else

const bool added = add_absent_math(kRecord, "needs a build by g++ with glibc 2.35 or later on x86-64");

#endif

}  // namespace
}  // namespace rung
