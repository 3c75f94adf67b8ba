#include "common/model/occupancy.hpp"

#include <algorithm>
#include <vector>

#include "common/registry.hpp"

namespace rung {
namespace {

constexpr int K = 1024;

// One line for each compute capability. 6.0 has two register files, but a launch is checked for four, so that what runs
// on it runs on all of Pascal. 10.1 is the number that CUDA 12 gave to what CUDA 13 calls 11.0.
// clang-format off
constexpr SmLimits kSms[] = {
    //        threads     blocks   registers                   by     warps      shared memory                     FP32
    // cc      block    SM        SM       block   thread unit block  files  check  SM    block  opt-in  unit reserved units
    { 1, 0,    512,   768,  8,    8 * K,   8 * K,  124,   256, true,  2,  2,   16 * K,  16 * K,  16 * K, 512,   0,   8},
    { 1, 1,    512,   768,  8,    8 * K,   8 * K,  124,   256, true,  2,  2,   16 * K,  16 * K,  16 * K, 512,   0,   8},
    { 1, 2,    512,  1024,  8,   16 * K,  16 * K,  124,   512, true,  2,  2,   16 * K,  16 * K,  16 * K, 512,   0,   8},
    { 1, 3,    512,  1024,  8,   16 * K,  16 * K,  124,   512, true,  2,  2,   16 * K,  16 * K,  16 * K, 512,   0,   8},
    { 2, 0,   1024,  1536,  8,   32 * K,  32 * K,   63,    64, false, 2,  2,   48 * K,  48 * K,  48 * K, 128,   0,  32},
    { 2, 1,   1024,  1536,  8,   32 * K,  32 * K,   63,    64, false, 2,  2,   48 * K,  48 * K,  48 * K, 128,   0,  48},
    { 3, 0,   1024,  2048, 16,   64 * K,  64 * K,   63,   256, false, 4,  4,   48 * K,  48 * K,  48 * K, 256,   0, 192},
    { 3, 2,   1024,  2048, 16,   64 * K,  32 * K,  255,   256, false, 4,  4,   48 * K,  48 * K,  48 * K, 256,   0, 192},
    { 3, 5,   1024,  2048, 16,   64 * K,  64 * K,  255,   256, false, 4,  4,   48 * K,  48 * K,  48 * K, 256,   0, 192},
    { 3, 7,   1024,  2048, 16,  128 * K,  64 * K,  255,   256, false, 4,  4,  112 * K,  48 * K,  48 * K, 256,   0, 192},
    { 5, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,   64 * K,  48 * K,  48 * K, 256,   0, 128},
    { 5, 2,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,   96 * K,  48 * K,  48 * K, 256,   0, 128},
    { 5, 3,   1024,  2048, 32,   64 * K,  32 * K,  255,   256, false, 4,  4,   64 * K,  48 * K,  48 * K, 256,   0, 128},
    { 6, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 2,  4,   64 * K,  48 * K,  48 * K, 256,   0,  64},
    { 6, 1,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,   96 * K,  48 * K,  48 * K, 256,   0, 128},
    { 6, 2,   1024,  2048, 32,   64 * K,  32 * K,  255,   256, false, 4,  4,   64 * K,  48 * K,  48 * K, 256,   0, 128},
    { 7, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,   96 * K,  48 * K,  96 * K, 256,   0,  64},
    { 7, 2,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,   96 * K,  48 * K,  96 * K, 256,   0,  64},
    { 7, 5,   1024,  1024, 16,   64 * K,  64 * K,  255,   256, false, 4,  4,   64 * K,  48 * K,  64 * K, 256,   0,  64},
    { 8, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,  164 * K,  48 * K, 163 * K, 128,   K,  64},
    { 8, 6,   1024,  1536, 16,   64 * K,  64 * K,  255,   256, false, 4,  4,  100 * K,  48 * K,  99 * K, 128,   K, 128},
    { 8, 7,   1024,  1536, 16,   64 * K,  64 * K,  255,   256, false, 4,  4,  164 * K,  48 * K, 163 * K, 128,   K, 128},
    { 8, 8,   1024,  1536, 16,   64 * K,  64 * K,  255,   256, false, 4,  4,  100 * K,  48 * K,  99 * K, 128,   K, 128},
    { 8, 9,   1024,  1536, 24,   64 * K,  64 * K,  255,   256, false, 4,  4,  100 * K,  48 * K,  99 * K, 128,   K, 128},
    { 9, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,  228 * K,  48 * K, 227 * K, 128,   K, 128},
    {10, 0,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,  228 * K,  48 * K, 227 * K, 128,   K, 128},
    {10, 1,   1024,  1536, 24,   64 * K,  64 * K,  255,   256, false, 4,  4,  228 * K,  48 * K, 227 * K, 128,   K, 128},
    {10, 3,   1024,  2048, 32,   64 * K,  64 * K,  255,   256, false, 4,  4,  228 * K,  48 * K, 227 * K, 128,   K, 128},
    {11, 0,   1024,  1536, 24,   64 * K,  64 * K,  255,   256, false, 4,  4,  228 * K,  48 * K, 227 * K, 128,   K, 128},
    {12, 0,   1024,  1536, 24,   64 * K,  64 * K,  255,   256, false, 4,  4,  100 * K,  48 * K,  99 * K, 128,   K, 128},
    {12, 1,   1024,  1536, 24,   64 * K,  64 * K,  255,   256, false, 4,  4,  100 * K,  48 * K,  99 * K, 128,   K, 128},
};
// clang-format on

std::string version(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::int64_t round_up(std::int64_t value, std::int64_t unit) { return (value + unit - 1) / unit * unit; }

/// "threads", "threads and registers", "threads, registers and shared memory".
std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text += (i == 0 ? "" : i + 1 == words.size() ? " and " : ", ") + words[i];
  return text;
}

void require_in_range(std::int64_t value, std::int64_t least, const char* what) {
  // The upper bound keeps every product below within 64 bits.
  constexpr std::int64_t kMost = std::numeric_limits<int>::max();
  if (value < least || value > kMost)
    throw Error("a block of " + std::to_string(value) + " " + what + " makes no sense: give " + std::to_string(least) +
                " to " + std::to_string(kMost));
}

/// Collects what a launch would be refused for.
struct Refusals {
  std::vector<std::string> resources, reasons;

  void check(std::int64_t asked, std::int64_t limit, const std::string& resource, const std::string& what) {
    if (asked <= limit) return;
    if (resources.empty() || resources.back() != resource) resources.push_back(resource);
    reasons.push_back(std::to_string(asked) + " " + what + ", the limit is " + std::to_string(limit));
  }
  bool concern(const std::string& resource) const { return std::ranges::find(resources, resource) != resources.end(); }
};

/// No resource of the SM, but a block of too many threads along z does not run, either.
constexpr const char* kAlongZ = "threads along z";

/// Registers that a block is charged for if it had `warps` warps.
std::int64_t block_registers(const SmLimits& sm, std::int64_t warps, std::int64_t registers_per_thread) {
  if (sm.registers_by_block)
    return round_up(round_up(warps, sm.register_warps) * kWarp * registers_per_thread, sm.register_unit);
  return warps * round_up(kWarp * registers_per_thread, sm.register_unit);
}

int blocks_by_registers(const SmLimits& sm, std::int64_t warps, std::int64_t registers_per_thread) {
  if (registers_per_thread == 0) return kUnlimited;
  if (sm.registers_by_block)
    return static_cast<int>(sm.registers_per_sm / block_registers(sm, warps, registers_per_thread));
  // Each part of an SM has its own register file, and a warp lives in one of them: what is left over in a file is too
  // small for a warp, and cannot be joined to what is left over in another.
  const std::int64_t per_warp = round_up(kWarp * registers_per_thread, sm.register_unit);
  const std::int64_t warps_per_file = sm.registers_per_sm / sm.register_warps / per_warp;
  return static_cast<int>(warps_per_file * sm.register_warps / warps);
}

Refusals refusals(const SmLimits& sm, const BlockNeeds& block, std::int64_t warps) {
  Refusals refused;
  refused.check(block.threads, sm.threads_per_block, "threads", "threads in a block");
  refused.check(block.z, sm.threads_along_z, kAlongZ, "threads along z of a block");
  refused.check(block.registers_per_thread, sm.registers_per_thread, "registers", "registers per thread");
  // The check of a launch assumes more registers than the block is then given.
  refused.check(block_registers(sm, round_up(warps, sm.launch_warps), block.registers_per_thread),
                sm.registers_per_block, "registers", "registers in a block");
  refused.check(block.shared_bytes, sm.shared_per_block_optin, "shared memory", "B of shared memory in a block");
  return refused;
}

/// The resources that allow no more blocks than there are.
std::string limiters(const Occupancy& o, bool is_z_too_large) {
  std::vector<std::string> names;
  if (is_z_too_large) names.emplace_back(kAlongZ);
  if (o.blocks_by_threads == o.blocks_per_sm) names.emplace_back("threads");
  if (o.blocks_by_slots == o.blocks_per_sm) names.emplace_back("blocks");
  if (o.blocks_by_registers == o.blocks_per_sm) names.emplace_back("registers");
  if (o.blocks_by_shared == o.blocks_per_sm) names.emplace_back("shared memory");
  return join(names);
}

std::string join_reasons(const std::vector<std::string>& reasons) {
  std::string text;
  for (const std::string& reason : reasons) text += (text.empty() ? "" : "; ") + reason;
  return text;
}

}  // namespace

std::span<const SmLimits> all_sm_limits() { return kSms; }

std::optional<SmLimits> find_sm_limits(int major, int minor) {
  for (const SmLimits& sm : kSms)
    if (sm.major == major && sm.minor == minor) return sm;
  return std::nullopt;
}

SmLimits sm_limits(int major, int minor) {
  if (const auto found = find_sm_limits(major, minor)) return *found;
  std::vector<std::string> known;
  for (const SmLimits& sm : kSms) known.push_back(version(sm.major, sm.minor));
  throw Error("compute capability " + version(major, minor) + " is not in the occupancy model, which has " +
              join(known));
}

Occupancy occupancy(const SmLimits& sm, const BlockNeeds& block) {
  require_in_range(block.threads, 1, "threads");
  require_in_range(block.registers_per_thread, 0, "registers per thread");
  require_in_range(block.shared_bytes, 0, "bytes of shared memory");

  const std::int64_t warps = round_up(block.threads, kWarp) / kWarp;
  const Refusals refused = refusals(sm, block, warps);

  Occupancy o;
  o.warps_per_block = static_cast<int>(warps);
  o.max_warps = sm.warps_per_sm();
  o.registers_per_block = block_registers(sm, warps, block.registers_per_thread);
  o.shared_per_block = round_up(block.shared_bytes + sm.shared_reserved, sm.shared_unit);
  o.needs_opt_in = block.shared_bytes > sm.shared_per_block;

  o.blocks_by_slots = sm.blocks_per_sm;
  o.blocks_by_threads = refused.concern("threads") ? 0 : static_cast<int>(o.max_warps / warps);
  o.blocks_by_registers = refused.concern("registers") ? 0 : blocks_by_registers(sm, warps, block.registers_per_thread);
  o.blocks_by_shared = refused.concern("shared memory") ? 0
                       : o.shared_per_block == 0        ? kUnlimited
                                                        : static_cast<int>(sm.shared_per_sm / o.shared_per_block);

  o.blocks_per_sm = std::min({o.blocks_by_slots, o.blocks_by_threads, o.blocks_by_registers, o.blocks_by_shared});
  if (refused.concern(kAlongZ)) o.blocks_per_sm = 0;
  o.warps = o.blocks_per_sm * o.warps_per_block;
  o.limiter = limiters(o, refused.concern(kAlongZ));
  o.reason = join_reasons(refused.reasons);
  return o;
}

}  // namespace rung
