/// The recipes by which gpu/matmul/top can compute a product, and the choice among them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "gpu/matmul/tma/engine/hopper.hpp"
#include "gpu/matmul/tma/engine/top_table.hpp"

namespace rung::hopper {

/// A compiled tile, and whether its last wave is divided along k (stream-K) or k is split.
enum class Recipe {
  by_table,
  large,
  large_stream_k,
  square,
  square_stream_k,
  tall,
  tall_stream_k,
  tall_split_k,
  medium,
  medium_stream_k,
  medium_split_k,
  small,
  small_split_k,
  tiny,
  tiny_split_k,
};

/// Their names, in the same order: the values of the tunable "recipe" and of the table.
inline const std::vector<Value>& recipe_words() {
  static const std::vector<Value> all =
      words({"table", "128x256", "128x256_stream_k", "128x128", "128x128_stream_k", "128x64", "128x64_stream_k",
             "128x64_split_k", "64x128", "64x128_stream_k", "64x128_split_k", "64x32", "64x32_split_k", "32x32",
             "32x32_split_k"});
  return all;
}

/// The recipe of that name. Throws Error if there is none.
inline Recipe recipe_called(const char* word) {
  for (const Value& value : recipe_words())
    if (value.word == word) return static_cast<Recipe>(value.number);
  throw Error(std::string("there is no recipe '") + word + "'");
}

/// Whether tiles of A or B are copied element by element, as rows of such lengths do not all begin at multiples of 16
/// bytes.
inline bool is_copied(std::int64_t lda, std::int64_t ldb) { return lda % 4 != 0 || ldb % 4 != 0; }

/// The recipe of the nearest table entry whose tiles are loaded in the same way: the one with the least sum of
/// |log(size / its size)|.
inline Recipe nearest_recipe(const MatmulShape& shape, bool copied) {
  const auto logs = [](int m, int n, int k) { return std::array{std::log(m), std::log(n), std::log(k)}; };
  struct Entry {
    std::array<double, 3> size;
    bool copied;
    Recipe recipe;
  };
  static const auto known = [&] {
    std::vector<Entry> all;
    for (const auto& [m, n, k, recipe] : kTuned) all.push_back({logs(m, n, k), is_copied(k, n), recipe_called(recipe)});
    return all;
  }();
  const auto wanted = logs(shape.m, shape.n, shape.k);
  const auto distance = [&](const Entry& entry) {
    const auto& size = entry.size;
    return entry.copied == copied
               ? std::abs(size[0] - wanted[0]) + std::abs(size[1] - wanted[1]) + std::abs(size[2] - wanted[2])
               : std::numeric_limits<double>::infinity();
  };
  const auto nearer = [&](const Entry& x, const Entry& y) { return distance(x) < distance(y); };
  return std::min_element(known.begin(), known.end(), nearer)->recipe;
}

/// The recipe of a call: the requested one, else the one from the table.
inline Recipe recipe_of(const Params& p) {
  const auto requested = static_cast<Recipe>(p.get("recipe", 0));
  if (requested != Recipe::by_table) return requested;
  const MatmulShape shape = matmul_shape(p);
  const bool copied = is_copied(p.get("lda", shape.k), p.get("ldb", shape.n)) || p.get("shift", 0) % 4 != 0;
  return nearest_recipe(shape, copied);
}

/// Calls act(tile, plan) with the recipe's tile and its plan for this size.
template <class Act>
auto with_recipe(Recipe recipe, const MatmulShape& shape, Act&& act) {
  const auto split = [&](auto tile) { return act(tile, Plan{.parts = parts_for(tile.kShape, shape)}); };
  switch (recipe) {
    case Recipe::large_stream_k:
      return act(Tile128x256{}, Plan{.share = true});
    case Recipe::square:
      return act(Tile128x128{}, Plan{});
    case Recipe::square_stream_k:
      return act(Tile128x128{}, Plan{.share = true});
    case Recipe::tall:
      return act(Tile128x64{}, Plan{});
    case Recipe::tall_stream_k:
      return act(Tile128x64{}, Plan{.share = true});
    case Recipe::tall_split_k:
      return split(Tile128x64{});
    case Recipe::medium:
      return act(Tile64x128{}, Plan{});
    case Recipe::medium_stream_k:
      return act(Tile64x128{}, Plan{.share = true});
    case Recipe::medium_split_k:
      return split(Tile64x128{});
    case Recipe::small:
      return act(Tile64x32{}, Plan{});
    case Recipe::small_split_k:
      return split(Tile64x32{});
    case Recipe::tiny:
      return act(Tile32x32{}, Plan{});
    case Recipe::tiny_split_k:
      return split(Tile32x32{});
    default:
      return act(Tile128x256{}, Plan{});
  }
}

}  // namespace rung::hopper
