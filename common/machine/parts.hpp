/// Work on large arrays by all cores.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace rung {

/// Calls part(begin, count) for all of `bytes`, on all threads if there are many: one alone would take most of the time
/// of checking an array larger than the caches.
template <typename Part>
void each_part(std::size_t bytes, const Part& part) {
  constexpr std::int64_t kPart = 1 << 20;
  const auto all = static_cast<std::int64_t>(bytes);
#pragma omp parallel for schedule(static) if (all > 4 * kPart)
  for (std::int64_t begin = 0; begin < all; begin += kPart)
    part(static_cast<std::size_t>(begin), static_cast<std::size_t>(std::min(kPart, all - begin)));
}

/// Whether each of `count` bytes, at least one, is `byte`.
inline bool all_are(const void* bytes, unsigned char byte, std::size_t count) {
  const auto* const first = static_cast<const unsigned char*>(bytes);
  return first[0] == byte && std::memcmp(first, first + 1, count - 1) == 0;  // each one equals its neighbour
}

}  // namespace rung
