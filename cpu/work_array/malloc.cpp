/// An array from the heap for each item. The C library keeps freed memory of this size for the thread that freed it, so
/// the next item gets the same array again, still in the cache, after some dozen instructions.
#include <cstdlib>

#include "cpu/work_array/arrays.hpp"

namespace rung {
namespace {

const bool added = add_kernel({
    .name = "cpu/work_array/malloc",
    .order = 20,
    .title = "malloc for each item",
    .idea = "An array from the heap for each item, freed after it.",
    .source = {{"blakely", "Vector addition, memory"}},
    .type = Type::uint32,
    .run =
        [](const Call& call) {
          work_on_items(call, [] {
            return [](int length, const auto& act) {
              auto* words =
                  static_cast<std::uint32_t*>(std::malloc(static_cast<std::size_t>(length) * sizeof(std::uint32_t)));
              act(words);
              asm volatile("" : : "r"(words) : "memory");  // otherwise the compiler would remove the unused memory
              std::free(words);
            };
          });
        },
});

}  // namespace
}  // namespace rung
