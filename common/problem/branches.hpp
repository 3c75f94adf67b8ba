/// "branches": threads repeatedly take one of two paths: what a branch costs, by which threads take which path.
///
/// Sizes     n: elements, up to 2^28; rounds: how often each reaches the branch, up to 2^16 (1 if not given).
///           body: steps of either path, a power of two up to 256 (64 if not given).
///           group: neighbours that take the same path, up to 2^20 (1 if not given): 1 separates the lanes of a
///           warp, 32 the warps of a block, kBranchThreads the blocks.
///           taken: of 32 groups, how many take the first path, from 0 to 32 (16 if not given).
/// Operand 0 `x`, input: n float32 from 0 to 1. Operand 1 `y`, output: n float32.
/// Formula   y[i] is x[i] after `rounds` rounds. In round r group g takes the first path if
///           (g + r) taken mod 32 < taken: evenly over the groups and over the rounds. With taken = 16 every other
///           group takes it, and these groups change from round to round. Each path is a chain of `body` dependent
///           steps: value = a value + b, with coefficients of that path.
/// Useful operations: 2 n rounds body, on either path.
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
