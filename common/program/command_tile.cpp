/// `rung tile`: which tiles of the tiled matrix product fit a GPU, what binds, and what they promise by the roofline.
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/json_text.hpp"
#include "common/model/bound.hpp"
#include "common/model/devices.hpp"
#include "common/model/tile.hpp"
#include "common/program/catalogue.hpp"
#include "common/program/commands.hpp"
#include "common/program/quantity.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

constexpr Type kTypes[] = {Type::fp64, Type::fp32, Type::tf32, Type::bf16, Type::fp16, Type::fp8, Type::int8};

struct Options {
  std::vector<std::string> devices;
  std::vector<int> widths = {4, 8, 16, 32, 48, 64, 96, 128};
  std::string type = "fp32";
  int registers = 0, side = 0;
  bool json = false;
};

Type type_of(const std::string& name) {
  std::string known;
  for (const Type type : kTypes) {
    if (name == type_name(type)) return type;
    known += (known.empty() ? "" : ", ") + std::string(type_name(type));
  }
  throw Error("'" + name + "' is not a type of a tile: give one of " + known);
}

/// A tile on a device.
struct Fit {
  SharedTile tile;
  Occupancy occupancy;
  std::optional<double> gflops;  ///< the roofline's bound; nothing where the device has no such units or it is unknown
};

Fit fit(const Device& device, int width, const Options& options) {
  const SharedTile tile =
      make_tile(width, static_cast<int>(type_bytes(type_of(options.type))), tile_side(width, options.side));
  Fit found{tile, tile_occupancy(sm_limits(device.major, device.minor), tile, options.registers), std::nullopt};
  if (const auto peak = peak_gflops(device, options.type); peak && *peak > 0)
    found.gflops = bound(*peak, device.dram_gbytes_per_s, tile.op_per_byte()).gflops;
  return found;
}

int widest(const Device& device, const Options& options) {
  return widest_tile(sm_limits(device.major, device.minor), static_cast<int>(type_bytes(type_of(options.type))),
                     options.registers, options.side);
}

std::string rule(std::size_t width) {
  std::string line;
  for (std::size_t i = 0; i < width; ++i) line += "─";
  return line;
}

std::string head_text(const Options& options) {
  return fmt::format("{} tiles of both operands in shared memory, {}{}", options.type,
                     options.side == 0
                         ? "one thread per element"
                         : fmt::format("at most {0}x{0} threads, each with as many elements as it takes", options.side),
                     options.registers == 0 ? "" : fmt::format(", {} registers per thread", options.registers));
}

void print_one(const Device& device, const Options& options) {
  fmt::print("{} (cc {}.{}): {}\n\n", device.name, device.major, device.minor, head_text(options));
  fmt::print("{:>5}  {:>7}  {:>8}  {:>6}  {:>9}  {:>5}  {:>7}  {:>6}  {:>9}  {}\n", "", "", "shared", "loads",
             "multiply-", "", "bound", "blocks", "", "");
  const std::string head =
      fmt::format("{:>5}  {:>7}  {:>8}  {:>6}  {:>9}  {:>5}  {:>7}  {:>6}  {:>9}  {}", "tile", "threads", "memory", "",
                  "adds", "OP/B", "GFLOP/s", "an SM", "occupancy", "bound by");
  fmt::print("{}\n{}\n", head, rule(head.size()));
  for (const int width : options.widths) {
    const auto [tile, o, gflops] = fit(device, width, options);
    fmt::print("{:>5}  {:>7}  {:>8}  {:>6}  {:>9}  {:>5g}  {:>7}  {:>6}  {:>7.1f} %  {}\n", width, tile.threads(),
               bytes_text(tile.shared_bytes()), tile.loads(), tile.multiply_adds(), tile.op_per_byte(),
               gflops ? rate_text(*gflops) : peak_text(peak_gflops(device, options.type)), o.blocks_per_sm,
               100 * o.fraction(), o.runs() ? o.limiter : "does not fit: " + o.reason);
  }
  fmt::print("\nThe widest tile that fits is {0}x{0}. Loads and multiply-adds are per block and phase.\n",
             widest(device, options));
}

/// "100 % TR" for a tile that fits, "- T" for one that does not: T threads, B blocks, R registers, S shared memory.
std::string cell(const Occupancy& o) {
  std::string letters;
  for (const auto& [word, letter] : {std::pair{"threads", 'T'}, {"blocks", 'B'}, {"registers", 'R'}, {"shared", 'S'}})
    if (o.limiter.find(word) != std::string::npos) letters += letter;
  return fmt::format("{} {:<2}", o.runs() ? fmt::format("{:.0f} %", 100 * o.fraction()) : "-", letters);
}

void print_all(const std::vector<const Device*>& list, const Options& options) {
  fmt::print("Occupancy by tile: {}\n\n", head_text(options));
  std::string head = fmt::format("{:<15}  {:>6}", "device", "widest");
  for (const int width : options.widths) head += fmt::format("  {:>9}", fmt::format("{0}x{0}   ", width));
  fmt::print("{}\n{}\n", head, rule(head.size()));
  for (const Device* device : list) {
    std::string line = fmt::format("{:<15}  {:>6}", device->name, widest(*device, options));
    for (const int width : options.widths) line += fmt::format("  {:>9}", cell(fit(*device, width, options).occupancy));
    fmt::print("{}\n", line);
  }
  fmt::print(
      "\nBound by T threads, B blocks, R registers, S shared memory; - does not fit. In detail: --device NAME.\n");
}

Json to_json(const Device& device, const Options& options) {
  Json tiles = Json::array();
  for (const int width : options.widths) {
    const auto [tile, o, gflops] = fit(device, width, options);
    tiles.push_back({{"tile", width},
                     {"threads", tile.threads()},
                     {"shared_bytes", tile.shared_bytes()},
                     {"loads", tile.loads()},
                     {"multiply_adds", tile.multiply_adds()},
                     {"op_per_byte", tile.op_per_byte()},
                     {"bound_gflops", gflops ? Json(*gflops) : Json()},
                     {"blocks_per_sm", o.blocks_per_sm},
                     {"occupancy", o.fraction()},
                     {"limiter", o.limiter},
                     {"cannot_run", o.runs() ? Json() : Json(o.reason)}});
  }
  return {{"device", device.name},
          {"type", options.type},
          {"registers_per_thread", options.registers},
          {"widest_tile", widest(device, options)},
          {"tiles", tiles}};
}

void run(const Options& options) {
  if (asks_for_list(options.devices)) return print_catalogue(options.json);
  if (options.side < 0 || options.side > 1024) throw Error("--side: give 1 to 1024 threads along a side");
  const std::vector<const Device*> list = chosen_devices(options.devices);
  for (const int width : options.widths) fit(*list.front(), width, options);  // refuses before anything is printed
  if (options.json) {
    Json out = Json::array();
    for (const Device* device : list) out.push_back(to_json(*device, options));
    fmt::print("{}\n", json_text(out, 2));
    return;
  }
  if (list.size() == 1) return print_one(*list.front(), options);
  print_all(list, options);
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand("tile", "Which tiles of a matrix product fit a GPU, and what binds");
  command.add_option("--device,DEVICE", options->devices,
                     "Devices of the catalogue, \"local\" for this machine's GPU, or \"list\" for the catalogue itself "
                     "(default: all)");
  command.add_option("--tile", options->widths, "Widths of the square tile (default: 4 8 16 32 48 64 96 128)");
  command.add_option("--type", options->type, "Of the operands: fp64, fp32 (default), tf32, bf16, fp16, fp8, int8");
  command.add_option("--registers", options->registers, "Registers per thread (default: no limit)");
  command.add_option("--side", options->side,
                     "Threads along a side of the block at most, each then with several elements (default: one each)");
  command.add_flag("--json", options->json, "Print JSON");
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 80, .add = add, .is_calculator = true});

}  // namespace
}  // namespace rung
