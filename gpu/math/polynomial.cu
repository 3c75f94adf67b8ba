/// Exponentials without the special function unit: 2^n times a polynomial of the rest of the argument, which is at most
/// half. n is added to the polynomial's exponent bits. Each further degree costs one multiply-add and gains three to
/// five bits, up to the error of evaluating it in float32. Useful where the special function unit is the bottleneck and
/// other units are idle. The coefficients are minimax in the relative error, found by Remez's exchange.
#include "gpu/math/implementation.hpp"

namespace rung {
namespace {

using Degrees = Choices<6, 3, 4, 5>;

constexpr float kShift = 0x1.8p23f;  // added and subtracted again, it rounds to a whole number

template <int Degree>
struct Polynomial {
  static constexpr bool has(MathFunction f) { return f == MathFunction::exp || f == MathFunction::exp2; }

  /// The polynomial of degree Degree at x, one multiply-add for each degree.
  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> power(const reg<float>& x) {
    constexpr float kExp2[4][7] = {
        {0.999928057f, 0.693260968f, 0.242611125f, 0.0551716685f},
        {0.999999285f, 0.693121791f, 0.240247443f, 0.0559178591f, 0.00957010221f},
        {1.00000012f, 0.693146944f, 0.240221202f, 0.0555071309f, 0.00967554096f, 0.00132764725f},
        {1, 0.693147182f, 0.240226462f, 0.0555032864f, 0.00961848907f, 0.00133999309f, 0.000153458124f}};
    constexpr float kExp[4][7] = {{0.999928057f, 1.00016415f, 0.504963279f, 0.165668428f},
                                  {0.999999285f, 0.999963403f, 0.500043571f, 0.167909071f, 0.0414586067f},
                                  {1.00000012f, 0.999999702f, 0.499988943f, 0.166675746f, 0.0419153832f, 0.0082976548f},
                                  {1, 1, 0.499999911f, 0.166664198f, 0.0416682251f, 0.00837481581f, 0.00138368458f}};
    const float* factors = kFunction == MathFunction::exp2 ? kExp2[Degree - 3] : kExp[Degree - 3];
    reg<float> sum = factors[Degree];
    for (int k = Degree - 1; k >= 0; --k) sum = fmaf(sum, x, factors[k]);
    return sum;
  }

  template <MathFunction kFunction>
  static __device__ __forceinline__ reg<float> of(const reg<float>& x, const reg<float>&) {
    reg<float> shifted = 0, rest = 0;
    if constexpr (kFunction == MathFunction::exp2) {
      const reg<float> inside = fminf(fmaxf(x, -125.0f), 127.0f);
      shifted = __fadd_rn(inside, kShift);
      rest = __fsub_rn(inside, __fsub_rn(shifted, kShift));
    } else {
      const reg<float> inside = fminf(fmaxf(x, -87.0f), 88.0f);
      shifted = fmaf(inside, 1.44269502f, kShift);
      const reg<float> whole = __fsub_rn(shifted, kShift);
      rest = fmaf(whole, -1.42860677e-6f, fmaf(whole, -0.693145752f, inside));  // ln 2 in two parts
    }
    // The whole number is in the low bits of the shifted value.
    return __int_as_float(__float_as_int(power<kFunction>(rest)) + (__float_as_int(shifted) << 23));
  }

  /// The errors of the polynomial and of its evaluation, where the argument is not clamped and the result is normal.
  template <MathFunction kFunction>
  static __device__ __forceinline__ double bound(float x, float, double want) {
    constexpr double kRelative[] = {7.48e-5, 2.59e-6, 7.49e-8, 1.86e-9};
    constexpr double kOwn = kRelative[Degree - 3];
    const bool is_inside = kFunction == MathFunction::exp2 ? x >= -125 && x <= 127 : x >= -87 && x <= 88;
    return is_inside ? kOwn * want + 2 * ulp(want) : kNoBound;
  }
};

const bool added = add_math(
    {
        .name = "gpu/math/polynomial",
        .order = 50,
        .title = "polynomial",
        .idea = "Exponentials by multiply-adds alone: each degree adds accuracy.",
        .source = {{"muller2016", "polynomial approximations, range reduction"}},
        .tunables = {{"degree", Degrees::values()}},
    },
    Polynomial<6>::has, [](const Params& p, const auto& act) {
      Degrees::pick(p.at("degree"), [&](auto degree) { act(Polynomial<degree>{}); });
    });

}  // namespace
}  // namespace rung
