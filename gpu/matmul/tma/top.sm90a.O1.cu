/// No tile is best at every size: a large one needs the fewest bytes per operation, but a small C has too few large
/// tiles. Six tiles are compiled, each with the last wave as it is, divided (stream-K), or with k split. A call uses
/// the recipe that was fastest at the nearest tuned size; experiments/tune.py measures and writes the table. The warps
/// of the smaller tiles form slices, which split k and add their sums in shared memory. A C of at most 16 rows or
/// columns fills no tile: unless a recipe is requested, the kernel for it takes the call. Source: choosing among
/// compiled kernels by recorded timings: Whaley, Petitet, Dongarra, ATLAS, 2001.
#include "gpu/matmul/tma/engine/top_recipes.hpp"
#include "gpu/simt/other_kernel.hpp"

namespace rung {
namespace {

/// Calls act(tile, plan) for a call of these sizes and tunables.
template <class Act>
auto with_choice(const Params& p, Act&& act) {
  return hopper::with_recipe(hopper::recipe_of(p), matmul_shape(p), act);
}

/// The kernel for few rows or columns that takes such a call; null if none does.
const Kernel* few(const Params& p) {
  static const Kernel *const rows = &find_kernel("gpu/matmul/few_rows"), *const cols =
                                                                             &find_kernel("gpu/matmul/few_cols");
  if (static_cast<hopper::Recipe>(p.get("recipe", 0)) != hopper::Recipe::by_table) return nullptr;
  return rows->refuse(p).empty() ? rows : cols->refuse(p).empty() ? cols : nullptr;
}

const bool added = add_gpu_kernel({
    .name = "gpu/matmul/top",
    .order = 200,
    .title = "top",
    .idea = "The tile and the division of k are selected for each size from a table of measured best choices.",
    .source = {{"whaley2001"}},
    .is_general = true,
    .tunables = {{"recipe", hopper::recipe_words()}},
    .scratch = [](const Params& p) { return few(p) ? few(p)->scratch(p) : std::vector<Operand>{}; },
    .gpu =
        {
            .min_compute_capability = 90,
            .launch =
                [](const Params& p) {
                  if (few(p)) return few(p)->gpu.launch(p);
                  return with_choice(p, [&](auto tile, const hopper::Plan& plan) {
                    return hopper::persistent_launch(tile.kShape, matmul_shape(p), plan);
                  });
                },
            .requested =
                [](const Params& p) {
                  if (few(p)) return few(p)->gpu.requested(p);
                  return with_choice(
                      p, [&](auto tile, const hopper::Plan& plan) { return hopper::traffic_of(tile.kShape, p, plan); });
                },
        },
    .run =
        [](const Call& call) {
          if (const Kernel* other = few(call.params)) return body_of(*other)(call);
          with_choice(call.params, [&](auto tile, const hopper::Plan& plan) {
            hopper::run<decltype(tile), hopper::StreamK>(call, plan);
          });
        },
});

}  // namespace
}  // namespace rung
