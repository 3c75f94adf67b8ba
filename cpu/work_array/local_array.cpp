/// An array on each thread's stack, used for one item after another.
#include "cpu/work_array/arrays.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/work_array/local_array",
    .order = 10,
    .title = "local array",
    .idea = "An array on each thread’s stack, used for one item after another.",
    .source = {{"zhou2015", "Local memory"}},
    .type = Type::uint32,
    .run =
        [](const Call& call) {
          work_on_items(call, [] {
            return [](int, const auto& act) {
              std::uint32_t words[kMostWords];
              act(static_cast<std::uint32_t*>(words));
            };
          });
        },
});

}  // namespace
}  // namespace rung
