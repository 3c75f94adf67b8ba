/// `rung occupancy`: how many blocks an SM holds, and what limits them, on one device or on all of the catalogue.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <charconv>
#include <cstdint>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/json_text.hpp"
#include "common/model/devices.hpp"
#include "common/model/next_step.hpp"
#include "common/model/occupancy.hpp"
#include "common/program/catalogue.hpp"
#include "common/program/commands.hpp"
#include "common/program/occupancy_plot.hpp"
#include "common/program/quantity.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kTableWidth = 90;  // leaves room for the longest list of limiters

struct Options {
  std::vector<std::string> devices;
  std::string compute_capability, threads, shared = "0", plot;
  std::int64_t registers = 0;
  bool json = false;

  BlockNeeds block() const {
    const auto [x, y, z] = parse_threads(threads);
    return {.threads = x * y * z, .registers_per_thread = registers, .shared_bytes = parse_bytes(shared), .z = z};
  }
};

/// An SM to ask about, and the name to show for it.
struct Subject {
  std::string name;
  SmLimits sm;
};

std::string version(const SmLimits& sm) { return fmt::format("{}.{}", sm.major, sm.minor); }

/// "9.0" or "9" to the limits of that SM.
SmLimits parse_compute_capability(const std::string& text) {
  int major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, major);
  if (error == std::errc() && rest != end && *rest == '.') {
    const auto parsed = std::from_chars(rest + 1, end, minor);
    rest = parsed.ptr;
    error = parsed.ec;
  }
  if (error != std::errc() || rest != end)
    throw Error("--cc '" + text + "' is not a compute capability: write it like 9.0");
  return sm_limits(major, minor);
}

std::vector<Subject> subjects(const Options& options) {
  if (!options.compute_capability.empty()) {
    const SmLimits sm = parse_compute_capability(options.compute_capability);
    return {{"compute capability " + version(sm), sm}};
  }
  std::vector<Subject> all;
  for (const Device* device : chosen_devices(options.devices))
    all.push_back({std::string(device->name), sm_limits(device->major, device->minor)});
  return all;
}

std::string block_text(const BlockNeeds& block) {
  return fmt::format("{} {}, {}, {} of shared memory", block.threads, block.threads == 1 ? "thread" : "threads",
                     block.registers_per_thread == 0
                         ? "registers not given"
                         : fmt::format("{} registers per thread", block.registers_per_thread),
                     echoed_bytes(block.shared_bytes));
}

std::string rule(std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < width; ++i) line += "─";
  return line;
}

void print_limit(const char* resource, const std::string& takes, const std::string& has, int blocks, int least) {
  const std::string count = blocks == kUnlimited ? "no limit" : std::to_string(blocks);
  fmt::print("  {:<15}  {:>16}  {:>12}  {:>8}{}\n", resource, takes, has, count, blocks == least ? "  ◄" : "");
}

void print_limits(const SmLimits& sm, const BlockNeeds& block, const Occupancy& o) {
  const std::string head =
      fmt::format("  {:<15}  {:>16}  {:>12}  {:>8}", "resource", "one block takes", "an SM has", "blocks");
  fmt::print("\n{}\n  {}\n", head, rule(head.size() - 2));
  print_limit("threads", fmt::format("{} warps", o.warps_per_block), fmt::format("{} warps", o.max_warps),
              o.blocks_by_threads, o.blocks_per_sm);
  if (block.z > sm.threads_along_z)
    print_limit("threads along z", std::to_string(block.z), fmt::format("{} per block", sm.threads_along_z), 0, 0);
  print_limit("blocks", "1", std::to_string(sm.blocks_per_sm), o.blocks_by_slots, o.blocks_per_sm);
  print_limit("registers", o.registers_per_block == 0 ? "not given" : std::to_string(o.registers_per_block),
              std::to_string(sm.registers_per_sm), o.blocks_by_registers, o.blocks_per_sm);
  print_limit("shared memory", bytes_text(o.shared_per_block), bytes_text(sm.shared_per_sm), o.blocks_by_shared,
              o.blocks_per_sm);
}

void print_notes(const SmLimits& sm, const Occupancy& o) {
  std::string notes;
  if (sm.shared_reserved > 0)
    notes +=
        fmt::format("  CUDA keeps {} of shared memory for itself in each block.\n", bytes_text(sm.shared_reserved));
  if (o.runs() && o.needs_opt_in)
    notes += fmt::format("  More than {} in a block: dynamic, and requested with cudaFuncSetAttribute.\n",
                         bytes_text(sm.shared_per_block));
  if (!notes.empty()) fmt::print("\n{}", notes);
}

/// The reasons, which "; " separates, below each other.
std::string one_a_line(std::string reasons, const std::string& separator) {
  for (std::size_t at = reasons.find("; "); at != std::string::npos; at = reasons.find("; ", at + separator.size()))
    reasons.replace(at, 2, separator);
  return reasons;
}

/// "at most 32 registers per thread (now 40)", for what differs.
std::string change_text(const BlockNeeds& now, const BlockNeeds& then) {
  std::vector<std::string> changes;
  if (then.threads != now.threads)
    changes.push_back(fmt::format("blocks of {} threads (now {})", then.threads, now.threads));
  else if (then.z != now.z)
    changes.push_back(fmt::format("at most {} threads along z (now {})", then.z, now.z));
  if (then.registers_per_thread != now.registers_per_thread)
    changes.push_back(
        fmt::format("at most {} registers per thread (now {})", then.registers_per_thread, now.registers_per_thread));
  if (then.shared_bytes != now.shared_bytes)
    changes.push_back(
        fmt::format("at most {} B of shared memory per block (now {})", then.shared_bytes, now.shared_bytes));
  return fmt::format("{}", fmt::join(changes, " and "));
}

void print_steps(const Subject& subject, const BlockNeeds& block, const Occupancy& now) {
  if (now.warps == now.max_warps) return;
  const std::vector<NextStep> steps = next_steps(subject.sm, block);
  fmt::print("\n{}\n", steps.empty() ? "No change of one resource brings more warps." : "More warps, with one of:");
  for (const NextStep& step : steps)
    fmt::print("  {:>3} warps, {:5.1f} %   {}\n", step.occupancy.warps, 100 * step.occupancy.fraction(),
               change_text(block, step.block));
}

void print_one(const Subject& subject, const BlockNeeds& block) {
  const Occupancy o = occupancy(subject.sm, block);
  fmt::print("Occupancy on {}{}\n", subject.name,
             subject.name.ends_with(version(subject.sm)) ? "" : " (cc " + version(subject.sm) + ")");
  fmt::print("  a block          {}\n", block_text(block));
  fmt::print("  blocks per SM    {}\n", o.blocks_per_sm);
  fmt::print("  warps per SM     {} of {}\n", o.warps, o.max_warps);
  fmt::print("  occupancy        {:.1f} %\n", 100 * o.fraction());
  if (o.runs())
    fmt::print("  limited by       {}\n", o.limiter);
  else
    fmt::print("  cannot run       {}\n", one_a_line(o.reason, "\n                   "));
  print_limits(subject.sm, block, o);
  print_steps(subject, block, o);
  print_notes(subject.sm, o);
}

void print_all(const std::vector<Subject>& all, const BlockNeeds& block) {
  fmt::print("Occupancy of a block of {}\n\n", block_text(block));
  const std::string head =
      fmt::format("{:<15}  {:>4}  {:>6}  {:>8}  {:>9}  limited by", "device", "cc", "blocks", "warps", "occupancy");
  fmt::print("{}\n{}\n", head, rule(kTableWidth));
  for (const Subject& subject : all) {
    const Occupancy o = occupancy(subject.sm, block);
    fmt::print("{:<15}  {:>4}  {:>6}  {:>8}  {:>7.1f} %  {}\n", subject.name, version(subject.sm), o.blocks_per_sm,
               fmt::format("{} of {}", o.warps, o.max_warps), 100 * o.fraction(),
               o.runs() ? o.limiter : "cannot run: " + o.limiter);
  }
  fmt::print("\nBlocks and warps are those resident on one SM. One device in detail: --device NAME or --cc 9.0.\n");
}

Json limit_json(int blocks) { return blocks == kUnlimited ? Json() : Json(blocks); }

Json steps_json(const Subject& subject, const BlockNeeds& block) {
  Json steps = Json::array();
  for (const NextStep& step : next_steps(subject.sm, block))
    steps.push_back({{"threads", step.block.threads},
                     {"threads_along_z", step.block.z},
                     {"registers_per_thread", step.block.registers_per_thread},
                     {"shared_bytes", step.block.shared_bytes},
                     {"warps", step.occupancy.warps},
                     {"occupancy", step.occupancy.fraction()}});
  return steps;
}

Json to_json(const Subject& subject, const BlockNeeds& block) {
  const Occupancy o = occupancy(subject.sm, block);
  return {{"device", subject.name},
          {"compute_capability", version(subject.sm)},
          {"threads", block.threads},
          {"registers_per_thread", block.registers_per_thread},
          {"shared_bytes", block.shared_bytes},
          {"blocks_per_sm", o.blocks_per_sm},
          {"warps", o.warps},
          {"max_warps", o.max_warps},
          {"occupancy", o.fraction()},
          {"limiter", o.limiter},
          {"cannot_run", o.runs() ? Json() : Json(o.reason)},
          {"needs_opt_in", o.needs_opt_in},
          {"blocks_by",
           {{"threads", limit_json(o.blocks_by_threads)},
            {"blocks", limit_json(o.blocks_by_slots)},
            {"registers", limit_json(o.blocks_by_registers)},
            {"shared_memory", limit_json(o.blocks_by_shared)}}},
          {"limits",
           {{"threads_per_block", subject.sm.threads_per_block},
            {"threads_per_sm", subject.sm.threads_per_sm},
            {"threads_along_x", subject.sm.threads_per_block},
            {"threads_along_y", subject.sm.threads_per_block},
            {"threads_along_z", subject.sm.threads_along_z},
            {"blocks_along_x", subject.sm.blocks_along_x()},
            {"blocks_along_y", subject.sm.blocks_along_y},
            {"blocks_along_z", subject.sm.blocks_along_z()},
            {"blocks_per_sm", subject.sm.blocks_per_sm},
            {"registers_per_sm", subject.sm.registers_per_sm},
            {"registers_per_thread", subject.sm.registers_per_thread},
            {"shared_per_sm", subject.sm.shared_per_sm},
            {"shared_per_block", subject.sm.shared_per_block},
            {"shared_per_block_optin", subject.sm.shared_per_block_optin}}},
          {"next_steps", steps_json(subject, block)}};
}

void write_plot(const std::string& file, const Subject& subject, const BlockNeeds& block) {
  std::ofstream out(file, std::ios::binary);
  out << occupancy_plot(subject.name, subject.sm, block);
  out.close();
  if (!out) throw OutputError("cannot write " + file);
}

void run(const Options& options) {
  if (asks_for_list(options.devices)) return print_catalogue(options.json);
  if (options.threads.empty()) throw Error("--threads is required: the threads of a block, as 256 or 16x16");
  const std::vector<Subject> all = subjects(options);
  const BlockNeeds block = options.block();
  occupancy(all.front().sm, block);  // refuses a senseless block before anything is printed
  if (!options.plot.empty()) {
    if (all.size() != 1) throw Error("--plot draws one device: choose it with --device NAME or --cc 9.0");
    write_plot(options.plot, all.front(), block);
  }
  if (options.json) {
    Json out = Json::array();
    for (const Subject& subject : all) out.push_back(to_json(subject, block));
    fmt::print("{}\n", json_text(out, 2));
    return;
  }
  if (all.size() == 1) return print_one(all.front(), block);
  print_all(all, block);
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand("occupancy", "How many blocks an SM holds at once, and what limits them");
  command.add_option("--threads", options->threads, "Threads in a block, as 256 or 16x16");
  command.add_option("--registers", options->registers, "Registers per thread (default: no limit)");
  command.add_option("--shared", options->shared,
                     "Shared memory in a block, static and dynamic: bytes, or as 32KiB or 32KB (of 1024 B)");
  const CommandOption device =
      command.add_option("--device", options->devices,
                         "Devices of the catalogue, \"local\" for this machine's GPU, or \"list\" "
                         "for the catalogue itself (default: all)");
  command.add_option("--cc", options->compute_capability, "A compute capability, e.g. 9.0").excludes(device);
  if (command.may_write())
    command.add_option("--plot", options->plot,
                       "Draw occupancy against block size, registers and shared memory into this SVG file");
  command.add_flag("--json", options->json, "Print JSON");
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 60, .add = add, .is_calculator = true});

}  // namespace
}  // namespace rung
