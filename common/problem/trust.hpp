/// The parts of a kernel's record that the harness checks, and whether the problems' records are unchanged.
#pragma once

#include <string>

#include "common/problem/problem.hpp"

namespace rung {

/// The largest factors that a kernel's record may have on its problem's bounds on errors, of each element and by norm:
/// what the least accurate known algorithm needs. 0: the problem has no such bound.
struct WidestBounds {
  double of_each = 1, by_norm = 0;
};

/// Of all types of a family of problems; the others allow no wider bound. Returns true, as add_problem() does.
bool add_widest_bounds(const std::string& family, WidestBounds widest);

/// Writes to `element` of the first input another value that inputs of this family may have, and that shows in the
/// result; drawn from `bits`.
using Redraw = std::function<void(const Params& sizes, std::uint64_t bits, void* element)>;

/// For families whose result may not change if two inputs are swapped: the new values that an audit writes to some
/// elements. Returns true.
bool add_redraw(const std::string& family, Redraw redraw);
/// For inputs that may be any words.
void redraw_word(const Params& sizes, std::uint64_t bits, void* element);
/// For real numbers: any from `low` to `high`.
Redraw redraw_between(double low, double high);
/// Null if the family has none.
const Redraw* redraw_of(const Problem& problem);

/// Why the error_bound of a kernel's record is wider than its problem allows; empty if it is not.
std::string bound_refusal(const Kernel& kernel, const Problem& problem);

/// Remembers the records of all problems as they are now, before any kernel has run. The first call counts.
void remember_problems();
/// Whether the record of a problem is the one that was remembered, or none was.
bool is_as_remembered(const Problem& problem);

}  // namespace rung
