/// "branches": threads take one of two ways again and again, to measure what a branch costs by who goes which way.
///
/// Sizes     n: elements, up to 2^28; rounds: how often each comes to the branch, up to 2^16 (1 if not given).
///           body: steps of either way, a power of two up to 256 (64 if not given).
///           group: so many neighbours go the same way, up to 2^20 (1 if not given): 1 parts the lanes of a warp, 32
///           the warps of a block, kBranchThreads the blocks.
///           taken: of 32 groups, so many take the first way, from 0 to 32 (16 if not given).
/// Operand 0 `x`, input: n float32 from 0 to 1. Operand 1 `y`, output: as many.
/// Formula   y[i] is x[i] after `rounds` rounds. In round r group g takes the first way if (g + r) taken mod 32 <
/// taken,
///           so the first ways are spread evenly over the groups and over the rounds: with taken = 16 every other group
///           takes it, and which ones changes from round to round. Each way is `body` steps, each of which needs the
///           one before: value = a value + b, with coefficients of that way.
/// Useful operations: 2 n rounds body, whoever goes where.
///
/// Both multipliers are a little below 1, so that values stay between 0 and 1, and errors never grow: each step rounds
/// by at most 2^-25.
#pragma once

#include <cstdint>

#include "common/registry.hpp"

namespace rung {

/// Threads of a block.
constexpr int kBranchThreads = 256;

using BranchBodies = Choices<64, 1, 2, 4, 8, 16, 32, 128, 256>;

/// The steps: towards 1/2 and, twice as fast, towards 1/8.
constexpr float kFirstFactor = 1 - 0x1p-11f, kFirstTerm = 0x1p-12f;
constexpr float kSecondFactor = 1 - 0x1p-10f, kSecondTerm = 0x1p-13f;

}  // namespace rung
