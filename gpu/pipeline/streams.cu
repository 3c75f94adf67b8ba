/// The array in chunks, each through three stages: copy in, kernel, copy out. On one stream the stages follow each
/// other; on several, the chunks of different streams are in different stages at the same time: there is a copy engine
/// for each direction, and the multiprocessors. Floor: the slowest stage alone, and the first and last chunk's other
/// stages. Small chunks shorten these ends, but each copy and launch has a start that its bytes must hide.
#include <algorithm>

#include "gpu/pipeline/steps.hpp"
#include "gpu/simt/copies.hpp"

namespace rung {
namespace {

/// Each chunk has its own part of the GPU's buffer, so that a chunk waits only for its own stages.
void run_chunks(const Call& call) {
  const auto* x = call.operand<const float>(0);
  auto* y = call.operand<float>(2);
  auto* buffer = call.operand<mem<float>>(3);
  const std::int64_t n = call.params.at("n"), chunk = call.params.at("chunk");
  const int streams = static_cast<int>(std::min(call.params.at("streams"), (n + chunk - 1) / chunk));
  void* stream[kForks + 1] = {call.stream};
  for (int i = 1; i < streams; ++i) stream[i] = fork_stream(call, i - 1);
  Call stage = call;
  int next = 0;
  for (std::int64_t first = 0; first < n; first += chunk, next = (next + 1) % streams) {
    const std::int64_t count = std::min(chunk, n - first);
    const auto bytes = static_cast<std::size_t>(4 * count);
    stage.stream = stream[next];
    stage.launch = launch_of(count);
    copy_to_gpu(buffer + first, x + first, bytes, stage.stream);
    launch(stage, take_steps, buffer + first, call.operand<const mem<float>>(1), buffer + first, count,
           static_cast<int>(call.params.at("steps")));
    copy_from_gpu(y + first, buffer + first, bytes, stage.stream);
  }
  for (int i = 1; i < streams; ++i) join_stream(call, i - 1);
}

const bool added = add_gpu_kernel({
    .name = "gpu/pipeline/streams",
    .order = 20,
    .title = "chunks on streams",
    .idea = "Chunks of the array are copied in, worked on and copied out on several streams, so that these overlap.",
    .source = {{"harris2012overlap"},
               {"cuda-best-practices", "asynchronous and overlapping transfers with computation"}},
    .tunables = {{"streams", {3, 1, 2, 4}}, {"chunk", {1 << 20, 1 << 14, 1 << 16, 1 << 18, 1 << 22, 1 << 24}}},
    .scratch =
        [](const Params& p) {
          return std::vector<Operand>{
              {.name = "buffer", .elements = static_cast<std::size_t>(p.at("n")), .role = Role::scratch}};
        },
    .gpu =
        {
            .not_emulated = "its copies are made by the GPU's copy engines; zero_copy has the same kernel",
            .pins_host = true,
            .has_timeline = true,
            .launch = [](const Params& p) { return launch_of(std::min(p.at("n"), p.at("chunk"))); },
            .requested = steps_traffic,
        },
    .run = run_chunks,
});

}  // namespace
}  // namespace rung
