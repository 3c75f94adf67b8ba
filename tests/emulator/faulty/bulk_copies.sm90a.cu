/// Faults of bulk copies, of compute capability 9.0: setting up, arriving at and waiting for an mbarrier, and fences
/// between threads and the unit that copies for them.
#include "gpu/simt/hopper_ptx.hpp"
#include "tests/emulator/faulty/faulty.hpp"

namespace rung {
namespace {

constexpr int kThreads = 64, kPhases = 4, kStageBytes = kThreads * 4;
constexpr std::size_t kShared = 2 * kStageBytes + 16;
const std::vector<FaultyBuffer> kStages = {{"in", kPhases* kStageBytes}, {"out", kStageBytes}};

enum class Load { right, unawaited, wrong_phase, few_bytes, many_bytes, refilled_in_use, uninitialised, left_alone };

/// Two stages: while one is used, the copy into the next one is in flight.
template <Load kFault>
__global__ void two_stages(const mem<float>* in, mem<float>* out) {
  mem<float>* tile = dynamic_shared<mem<float>>();
  const std::uint32_t tile_at = hopper::shared_address(tile), full = tile_at + 2 * kStageBytes;
  const int t = threadIdx.x;
  if (t == 0) {
    hopper::barrier_init(full, 1);
    hopper::barrier_init(full + 8, 1);
    hopper::publish_barriers();
  }
  if constexpr (kFault != Load::uninitialised) __syncthreads();
  const auto fill = [&](int phase) {
    const int stage = phase % 2;
    constexpr int kExpected = kFault == Load::few_bytes    ? kStageBytes / 2
                              : kFault == Load::many_bytes ? 2 * kStageBytes
                                                           : kStageBytes;
    hopper::barrier_expect(full + stage * 8, kExpected);
    hopper::bulk_load(tile_at + stage * kStageBytes, in + phase * kThreads, kStageBytes, full + stage * 8);
  };
  if (t == 0) {
    fill(0);
    fill(1);
  }
  reg<float> sum = 0;
  constexpr int kUsed = kFault == Load::left_alone ? kPhases - 1 : kPhases;
  for (int phase = 0; phase < kUsed; ++phase) {
    const int stage = phase % 2, parity = phase / 2 % 2;
    if constexpr (kFault != Load::unawaited)
      hopper::barrier_wait(full + stage * 8, kFault == Load::wrong_phase ? 1 - parity : parity);
    sum += tile[stage * kThreads + kThreads - 1 - t];
    if constexpr (kFault != Load::refilled_in_use) __syncthreads();
    if (t == 0 && phase + 2 < kPhases) fill(phase + 2);
  }
  out[t] = sum;
}

bool add_load(const char* name, const char* what, std::vector<std::string> findings, const char* buffer,
              void (*kernel)(const mem<float>*, mem<float>*)) {
  return add_faulty({.name = name,
                     .what = what,
                     .findings = std::move(findings),
                     .buffer = buffer,
                     .runs_away = false,
                     .launch = {{1}, {kThreads}, kShared},
                     .buffers = kStages,
                     .run = on_buffers(kernel),
                     .right = on_buffers(two_stages<Load::right>)});
}

const std::vector<std::string> kUnfinished = {"unfinished copy"};
const char* const kDynamic = "dynamic shared memory";

const bool unawaited = add_load("bulk_load_without_wait", "a tile is used before the mbarrier of its load was asked",
                                {"unfinished copy", "never awaited"}, "", two_stages<Load::unawaited>);
const bool wrong_phase = add_load("bulk_load_wrong_phase", "a wait for the phase of an mbarrier before the present one",
                                  kUnfinished, kDynamic, two_stages<Load::wrong_phase>);
const bool few_bytes = add_load("bulk_load_few_bytes", "an mbarrier expects fewer bytes than are loaded",
                                {"bad mbarrier"}, "", two_stages<Load::few_bytes>);
const bool many_bytes = add_load("bulk_load_many_bytes", "an mbarrier expects more bytes than are loaded",
                                 {"bad mbarrier"}, "", two_stages<Load::many_bytes>);
const bool refilled =
    add_load("bulk_load_into_stage_in_use", "a stage is filled again before all threads have used it",
             {"write after read", "unfinished copy", "read after write"}, kDynamic, two_stages<Load::refilled_in_use>);
const bool uninitialised =
    add_load("mbarrier_without_barrier", "an mbarrier is used with no barrier after it was set up", {"bad mbarrier"},
             "", two_stages<Load::uninitialised>);
const bool left_alone = add_load("bulk_load_left_alone", "the block ends while the last load is in flight",
                                 {"never awaited"}, "", two_stages<Load::left_alone>);

enum class Copies { right, arrive_first, unawaited, left_alone };

/// Every thread copies an element, and arrives when that is complete.
template <Copies kFault>
__global__ void copied_elements(const mem<float>* in, mem<float>* out) {
  mem<float>* tile = dynamic_shared<mem<float>>();
  const std::uint32_t tile_at = hopper::shared_address(tile), full = tile_at + 2 * kStageBytes;
  const int t = threadIdx.x;
  if (t == 0) {
    hopper::barrier_init(full, kThreads);
    hopper::publish_barriers();
  }
  __syncthreads();
  if constexpr (kFault == Copies::arrive_first) hopper::barrier_arrive_after_copies(full);
  hopper::copy_element(tile_at + t * 4, in + t, t % 3 != 0);
  if constexpr (kFault != Copies::arrive_first) hopper::barrier_arrive_after_copies(full);
  if constexpr (kFault == Copies::left_alone) return;
  if constexpr (kFault != Copies::unawaited) hopper::barrier_wait(full, 0);
  out[t] = tile[kThreads - 1 - t];
}

bool add_copies(const char* name, const char* what, std::vector<std::string> findings, const char* buffer,
                void (*kernel)(const mem<float>*, mem<float>*)) {
  return add_faulty({.name = name,
                     .what = what,
                     .findings = std::move(findings),
                     .buffer = buffer,
                     .runs_away = false,
                     .launch = {{1}, {kThreads}, kShared},
                     .buffers = kStages,
                     .run = on_buffers(kernel),
                     .right = on_buffers(copied_elements<Copies::right>)});
}

const bool arrive_first =
    add_copies("mbarrier_before_copies", "threads arrive at an mbarrier before their copies begin", kUnfinished,
               kDynamic, copied_elements<Copies::arrive_first>);
const bool copies_unawaited = add_copies(
    "mbarrier_copies_without_wait", "a tile is used before waiting for the mbarrier of its copies",
    {"read after write", "uninitialised shared memory", "never awaited"}, kDynamic, copied_elements<Copies::unawaited>);
const bool copies_left_alone = add_copies("mbarrier_copies_left_alone", "the block ends while copies are in flight",
                                          {"never awaited"}, "", copied_elements<Copies::left_alone>);

enum class Store { right, no_fence, no_barrier, overwritten, unawaited };
const std::vector<FaultyBuffer> kTiles = {{"in", 2 * kStageBytes}, {"out", 2 * kStageBytes}};

/// Threads write a tile to shared memory, one of them has it stored.
template <Store kFault>
__global__ void two_stores(const mem<float>* in, mem<float>* out) {
  mem<float>* tile = dynamic_shared<mem<float>>();
  const std::uint32_t tile_at = hopper::shared_address(tile);
  const int t = threadIdx.x;
  for (int i = 0; i < 2; ++i) {
    tile[t] = 2.0f * in[i * kThreads + kThreads - 1 - t];
    if constexpr (kFault != Store::no_fence) hopper::publish_to_tma();
    if constexpr (kFault != Store::no_barrier) __syncthreads();
    if (t == 0) {
      hopper::bulk_store(out + i * kThreads, tile_at, kStageBytes);
      if constexpr (kFault != Store::overwritten && kFault != Store::unawaited) hopper::tma_store_wait<0>();
    }
    if (kFault != Store::unawaited || i == 0) __syncthreads();
    if (kFault == Store::unawaited) break;
  }
  if (kFault != Store::unawaited && t == 0) hopper::tma_store_wait<0>();
}

bool add_store(const char* name, const char* what, std::vector<std::string> findings, const char* buffer,
               void (*kernel)(const mem<float>*, mem<float>*)) {
  return add_faulty({.name = name,
                     .what = what,
                     .findings = std::move(findings),
                     .buffer = buffer,
                     .runs_away = false,
                     .launch = {{1}, {kThreads}, kStageBytes},
                     .buffers = kTiles,
                     .run = on_buffers(kernel),
                     .right = on_buffers(two_stores<Store::right>)});
}

const bool no_fence = add_store("bulk_store_without_fence", "no proxy fence between writes of a tile and its store",
                                {"missing proxy fence"}, kDynamic, two_stores<Store::no_fence>);
const bool no_barrier = add_store("bulk_store_without_barrier", "a tile is stored before all threads have written it",
                                  {"read after write", "write after read"}, kDynamic, two_stores<Store::no_barrier>);
const bool overwritten = add_store("bulk_store_overwritten", "a tile is written again while its store reads it",
                                   {"write after read"}, kDynamic, two_stores<Store::overwritten>);
const bool abandoned = add_store("bulk_store_left_alone", "the block ends while a store reads its shared memory",
                                 {"never awaited"}, "", two_stores<Store::unawaited>);

}  // namespace
}  // namespace rung
