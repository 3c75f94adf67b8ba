/// The ways in which gpu/matmul/top can compute a product, and the choice among them.
#pragma once

#include <array>
#include <cmath>

#include "gpu/matmul/hopper.hpp"
#include "gpu/matmul/top_table.hpp"

namespace rung::hopper {

/// A compiled tile, and whether its last wave is shared or k is split. The values are those of the tunable "recipe" and
/// of the table.
enum class Recipe {
  by_table,
  large,  // 128 x 256
  large_shared,
  medium,  // 64 x 128
  medium_shared,
  medium_split,
  small,  // 64 x 32
  small_split,
  tiny,  // 32 x 32
  tiny_split,
};

/// The recipe of the table entry nearest to this size: the one with the least sum of |log(size / its size)|.
inline Recipe nearest_recipe(const MatmulShape& shape) {
  const auto logs = [](int m, int n, int k) { return std::array{std::log(m), std::log(n), std::log(k)}; };
  static const auto known = [&] {
    std::array<std::array<double, 3>, std::size(kTuned)> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = logs(kTuned[i].m, kTuned[i].n, kTuned[i].k);
    return all;
  }();
  const auto wanted = logs(shape.m, shape.n, shape.k);
  const auto distance = [&](const std::array<double, 3>& size) {
    return std::abs(size[0] - wanted[0]) + std::abs(size[1] - wanted[1]) + std::abs(size[2] - wanted[2]);
  };
  std::size_t nearest = 0;
  for (std::size_t i = 1; i < known.size(); ++i)
    if (distance(known[i]) < distance(known[nearest])) nearest = i;
  return static_cast<Recipe>(kTuned[nearest].recipe);
}

/// The recipe of a call: the requested one, else that of the table.
inline Recipe recipe_of(const Params& p) {
  const auto requested = static_cast<Recipe>(p.get("recipe", 0));
  return requested == Recipe::by_table ? nearest_recipe(matmul_shape(p)) : requested;
}

/// Calls act(tile, plan) with the recipe's tile and its plan for this size.
template <class Act>
auto with_recipe(Recipe recipe, const MatmulShape& shape, Act&& act) {
  const auto split = [&](auto tile) { return act(tile, Plan{.parts = parts_for(tile.kShape, shape)}); };
  switch (recipe) {
    case Recipe::large_shared:
      return act(Tile128x256{}, Plan{.share = true});
    case Recipe::medium:
      return act(Tile64x128{}, Plan{});
    case Recipe::medium_shared:
      return act(Tile64x128{}, Plan{.share = true});
    case Recipe::medium_split:
      return split(Tile64x128{});
    case Recipe::small:
      return act(Tile64x32{}, Plan{});
    case Recipe::small_split:
      return split(Tile64x32{});
    case Recipe::tiny:
      return act(Tile32x32{}, Plan{});
    case Recipe::tiny_split:
      return split(Tile32x32{});
    default:
      return act(Tile128x256{}, Plan{});
  }
}

}  // namespace rung::hopper
