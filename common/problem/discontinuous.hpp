/// "discontinuous": a function with two branches, one far more expensive than the other:
/// f(a, b) = 2 a where a is negative, else sin(a) + b.
///
/// Sizes     n: elements, up to 2^31; passes: evaluations of each, up to 2^16 (1 if not given).
///           negative: how many of 100 elements are negative (50 if not given).
/// Operand 0 `a`, operand 1 `b`, inputs: n float32; |a| from 2^-10 to 3.14, b from -1 to 1.
/// Operand 2 `c`, output: n float32.
/// Formula   c[i] = sum over p from 0 to passes - 1 of f(a_p, b[i]), where a_0 = a[i], and a_(p+1) = a_p *
///           kDiscontinuousNudge rounded to float32, which keeps the sign. With one pass that is f(a[i], b[i]) itself.
/// Data      Where the negative elements are; the magnitudes are the same random ones in all sets.
///           random: anywhere; sorted: before all others; runs: 32 neighbours alike, aligned to warps; alternating:
///           spread as evenly as they can be.
/// Useful operations: none are counted, as the two branches differ. Compulsory bytes: 12 n.
#pragma once

namespace rung {

constexpr float kDiscontinuousNudge = 1 - 0x1p-12f;

}  // namespace rung
