/// "tree_walk": the sum over a tree that is discovered during the walk. Divide and conquer in its plainest form:
/// whether a node has children is known only once it has been visited, and neighbouring threads have trees of other
/// shapes. This file has the tree, and the walk without a stack, one definition for the CPU and the GPU.
///
/// Sizes     n: trees, up to 2^24; depth: levels below the root, up to kMostDepth.
/// Operand 0 `tree`, input: n of uint32. Operand 1 `sum`, output: n of uint32.
/// Formula   Nodes are numbered as in a heap: the root is 1, the children of v are 2 v and 2 v + 1. A node's value is
///           scrambled_word(tree + v); three of four nodes have children, by the value's lowest bits, down to `depth`.
///           sum = the sum of all nodes' values, modulo 2^32. A tree has 1.5 times as many nodes on each level as on
///           the one above: about 73 with a depth of 8, about 2000 with 16.
/// No floating-point operations. Compulsory bytes: 8 n.
#pragma once

#include <cstdint>

#include "common/problem/scrambled_word.hpp"

namespace rung {

constexpr int kMostDepth = 24;

RUNG_ANYWHERE std::uint32_t node_value(std::uint32_t tree, std::uint32_t node) { return scrambled_word(tree + node); }

/// `levels_below`: from this node's level to the deepest one.
RUNG_ANYWHERE bool has_children(std::uint32_t value, int levels_below) { return levels_below > 0 && (value & 3) != 0; }

/// Node by node, down to the left; from a node without children up to the next one to the right, by the nodes' numbers.
RUNG_ANYWHERE std::uint32_t tree_sum(std::uint32_t tree, int depth) {
  std::uint32_t node = 1, sum = 0;
  int level = 0;
  while (true) {
    const std::uint32_t value = node_value(tree, node);
    sum += value;
    if (has_children(value, depth - level)) {
      node = 2 * node;
      ++level;
      continue;
    }
    while ((node & 1) != 0) {  // a right child, or the root: everything below its parent is done
      node /= 2;
      --level;
    }
    if (node == 0) return sum;
    ++node;
  }
}

}  // namespace rung
