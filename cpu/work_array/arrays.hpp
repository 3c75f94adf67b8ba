/// The walk with a vector of words, which each of the CPU's kernels allocates differently.
#pragma once

#include <cstdint>

#include "common/problem/work_array.hpp"
#include "common/registry.hpp"

namespace rung {

/// Works on all items on all threads; `array_of_thread()` is called once by each thread and returns a function that is
/// called for each item and passes its array to act(words).
template <typename ArrayOfThread>
void work_on_items(const Call& call, const ArrayOfThread& array_of_thread) {
  const auto* start = call.operand<const std::uint32_t>(0);
  auto* sum = call.operand<std::uint32_t>(1);
  const std::int64_t n = call.params.at("n");
  const int length = static_cast<int>(call.params.at("length"));
#pragma omp parallel
  {
    auto&& lend = array_of_thread();
#pragma omp for schedule(static)
    for (std::int64_t i = 0; i < n; ++i)
      lend(length, [&](std::uint32_t* words) { sum[i] = walk_through(words, start[i], length); });
  }
}

}  // namespace rung
