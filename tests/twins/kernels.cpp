/// Five twins of a kernel that computes on one thread, and of one that waits for memory on all of them, for the program
/// rung_with_twins: `a` and `b` are the same; `1`, `2` and `5` repeat 1, 2 and 5 per cent of the work.
#include <algorithm>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

/// The first rows again.
void matmul(const Call& call, std::int64_t percent) {
  const Kernel& naive = find_kernel("cpu/matmul/naive");
  naive.run(call);
  if (percent == 0) return;
  Call again = call;
  again.params.set("m", call.params.at("m") * percent / 100);
  naive.run(again);
}

/// Blocks from all of the arrays again, since caches may keep the beginning of what does not fit into them.
void vector_addition(const Call& call, std::int64_t percent) {
  constexpr std::int64_t kBlock = 4096;
  const auto *a = call.operand<const float>(0), *b = call.operand<const float>(1);
  auto* c = call.operand<float>(2);
  const std::int64_t n = call.params.at("n"), blocks = (n + kBlock - 1) / kBlock;
  const auto add_block = [=](std::int64_t block) {
    const std::int64_t end = std::min(n, (block + 1) * kBlock);
    for (std::int64_t i = block * kBlock; i < end; ++i) c[i] = a[i] + b[i];
  };
#pragma omp parallel
  {
#pragma omp for schedule(static)
    for (std::int64_t block = 0; block < blocks; ++block) add_block(block);
#pragma omp for schedule(static)
    for (std::int64_t extra = 0; extra < blocks * percent / 100; ++extra) add_block(extra * 100 / percent);
  }
}

bool plant(const std::string& family, bool is_serial, void (*work)(const Call&, std::int64_t)) {
  const std::pair<const char*, std::int64_t> twins[] = {{"a", 0}, {"b", 0}, {"1", 1}, {"2", 2}, {"5", 5}};
  for (const auto& [name, percent] : twins)
    add_kernel({.name = "cpu/" + family + "/twin_" + name,
                .order = 1000,
                .title = std::string("twin ") + name,
                .idea = "A planted slow-down.",
                .cpu = {.is_serial = is_serial},
                .run = [work, percent = percent](const Call& call) { work(call, percent); }});
  return true;
}

const bool planted = plant("matmul", true, matmul) && plant("vector_addition", false, vector_addition);

}  // namespace
}  // namespace rung
