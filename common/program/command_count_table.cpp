#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>

#include "common/program/command_count.hpp"
#include "common/model/devices.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

std::string point_name(const CountedKernel& c) {
  std::string name = c.kernel->name;
  for (const Params* part : {&c.tunables, &c.brief_sizes})
    if (!part->empty()) name += "/" + part->text();
  return name;
}

double share(double a, double b) { return b > 0 ? a / b : 0; }

constexpr const char* kOrderNames[] = {"forward", "reverse", "random"};  // as Order has them

std::string rule() {
  std::string line;
  for (int i = 0; i < 80; ++i) line += "─";
  return line;
}

void print_row(const std::string& what, const std::string& value, const std::string& unit, const std::string& note) {
  std::string line = fmt::format("  {:<26}{:>18} {:<6} {}", what, value, unit, note);
  line.erase(line.find_last_not_of(' ') + 1);
  fmt::print("{}\n", line);
}
void print_row(const std::string& what, std::uint64_t value, const std::string& unit = "",
               const std::string& note = "") {
  print_row(what, std::to_string(value), unit, note);
}
void print_ratio(const std::string& what, double value, const std::string& note = "") {
  print_row(what, fmt::format("{:.6g}", value), "OP/B", note);
}
void print_heading(const std::string& text) { fmt::print("\n{}\n", text); }

void print_operations(const char* precision, const Operations& done) {
  if (done.flops() == 0 && done.specials == 0) return;
  print_row(fmt::format("{} fused multiply-add", precision), done.fmas, "", "2 operations each");
  print_row(fmt::format("{} add", precision), done.adds);
  print_row(fmt::format("{} multiply", precision), done.muls);
  if (done.specials > 0) print_row(fmt::format("{} divide, root, …", precision), done.specials, "", "not in the sum");
}

/// A row that most kernels have nothing to say in.
void print_if_any(const std::string& what, std::uint64_t value, const std::string& note) {
  if (value > 0) print_row(what, value, "", note);
}
/// Requests for sectors, if there are any.
void print_requests_if_any(const std::string& what, std::uint64_t requests, std::uint64_t sectors,
                           const std::string& note) {
  if (requests == 0) return;
  print_row(what, requests, "", note);
  const double each = share(static_cast<double>(sectors), static_cast<double>(requests));
  print_row("  sectors of 32 B", sectors, "", fmt::format("{:#.3g} per request", each));
}

std::string declared_note(double declared, std::uint64_t counted) {
  if (declared == static_cast<double>(counted)) return "as declared";
  return fmt::format("declared: {:.0f}", declared);
}

void print_memory(const CountedKernel& c) {
  const Counts& n = c.counts;
  print_heading("Global memory                          requested, before any cache");
  print_row("loaded", n.bytes_loaded, "B", c.declared ? declared_note(c.declared->loaded, n.bytes_loaded) : "");
  print_row("stored", n.bytes_stored, "B", c.declared ? declared_note(c.declared->stored, n.bytes_stored) : "");
  print_row("load requests", n.load_requests, "", "of a warp");
  print_row("  sectors of 32 B", n.load_sectors, "", fmt::format("{:#.3g} per request", n.sectors_per_load_request()));
  print_row("store requests", n.store_requests);
  print_row("  sectors of 32 B", n.store_sectors, "",
            fmt::format("{:#.3g} per request", n.sectors_per_store_request()));
  print_requests_if_any("atomic requests", n.atomic_requests, n.atomic_sectors, "");
  print_requests_if_any("asynchronous copies", n.async_requests, n.async_sectors, "requests, into shared memory");
  print_if_any("constant-memory requests", n.constant_requests, "");
}

void print_shared_memory(const Counts& n) {
  if (n.shared_load_requests + n.shared_store_requests + n.shared_atomic_requests == 0) return;
  print_heading("Shared memory");
  const auto conflicts = [](std::uint64_t wavefronts, std::uint64_t requests) {
    return wavefronts == requests ? std::string("no bank conflicts") : fmt::format("{} wavefronts", wavefronts);
  };
  print_row("load requests", n.shared_load_requests, "", conflicts(n.shared_load_wavefronts, n.shared_load_requests));
  print_row("store requests", n.shared_store_requests, "",
            conflicts(n.shared_store_wavefronts, n.shared_store_requests));
  print_if_any("atomic requests", n.shared_atomic_requests, "");
}

void print_warps(const Counts& n) {
  if (n.barriers + n.warp_barriers + n.shuffles + n.divergent_requests == 0) return;
  print_heading("Warps");
  print_if_any("barriers", n.barriers, "one for each warp that arrives");
  print_if_any("warp barriers", n.warp_barriers, "");
  print_if_any("shuffles and votes", n.shuffles, "");
  print_if_any("divergent requests", n.divergent_requests, "without some of the warp's threads");
}

void print_caches(const CacheCounts& n, const Device& device) {
  print_heading(fmt::format("Caches of the {} (model)", device.name));
  const auto print_hits = [](const char* cache, double rate, std::uint64_t sectors) {
    print_row(cache, fmt::format("{:.1f}", 100 * rate), "%", fmt::format("of {} loaded sectors", sectors));
  };
  print_hits("L1 hit rate", n.l1_hit_rate(), n.l1_load_sectors);
  print_hits("L2 hit rate", n.l2_hit_rate(), n.l2_load_sectors);
  print_row("DRAM", fmt::format("{:.0f}", n.dram_bytes()), "B",
            fmt::format("{} sectors read, {} written", n.dram_read_sectors, n.dram_written_sectors));
}

void print_ratios(const CountedKernel& c) {
  print_heading("Operations per byte");
  print_ratio("loads", c.counts.op_per_byte_loaded());
  if (c.declared)
    print_ratio("  by the declared formula", share(c.useful_flops, c.declared->loaded),
                c.agrees() ? "bytes agree exactly" : "BYTES DIFFER");
  print_ratio("loads and stores", c.counts.op_per_byte_moved());
}

Json caches_json(const CacheCounts& n, const Device& device) {
  return {{"device", device.name},
          {"l1_load_sectors", n.l1_load_sectors},
          {"l1_load_hits", n.l1_load_hits},
          {"l1_hit_rate", n.l1_hit_rate()},
          {"l2_load_sectors", n.l2_load_sectors},
          {"l2_load_hits", n.l2_load_hits},
          {"l2_hit_rate", n.l2_hit_rate()},
          {"l2_store_sectors", n.l2_store_sectors},
          {"l2_store_hits", n.l2_store_hits},
          {"dram_read_sectors", n.dram_read_sectors},
          {"dram_written_sectors", n.dram_written_sectors},
          {"dram_bytes", n.dram_bytes()}};
}

}  // namespace

void print_table(const CountedKernel& c, const EmulatorOptions& options) {
  const Counts& n = c.counts;
  fmt::print("{}\n{}\n", point_name(c), rule());
  fmt::print("Operations\n");
  print_operations("FP32", n.fp32);
  print_operations("FP64", n.fp64);
  const bool exact = static_cast<double>(n.flops()) == c.useful_flops;
  print_row("together", n.flops(), "flop",
            n.flops() == 0 ? ""
            : exact        ? "all useful"
                           : fmt::format("useful: {:.0f}", c.useful_flops));
  print_memory(c);
  print_shared_memory(n);
  print_warps(n);
  if (options.caches) print_caches(n.caches, *options.caches);
  if (n.flops() > 0) print_ratios(c);
  print_heading("Emulation");
  print_row("result", n.check.passed() ? "verified" : "WRONG", "",
            n.check.passed() ? fmt::format("error {:.2g} of its bound", n.check.max_error_ratio) : "");
  print_row("thread order, seed", fmt::format("{}, {}", kOrderNames[static_cast<int>(options.order)], options.seed), "",
            "");
  print_row("accesses", n.accesses, "",
            fmt::format("{:.3g} s, {:.3g} million/s", n.seconds, c.accesses_per_second() / 1e6));
  fmt::print("\n");
  if (options.lines) print_lines(counts_by_line(n));
}

Json to_json(const Operations& done) {
  return {{"adds", done.adds}, {"muls", done.muls}, {"fmas", done.fmas}, {"specials", done.specials}};
}

Json to_json(const CountedKernel& c, const EmulatorOptions& options) {
  const Counts& n = c.counts;
  Json out{{"name", point_name(c)}, {"kernel", c.kernel->name}};
  for (const auto& [name, value] : c.params) out["params"][name] = value;
  out["fp32"] = to_json(n.fp32);
  out["fp64"] = to_json(n.fp64);
  out["flops"] = n.flops();
  out["flops_useful"] = c.useful_flops;
  out["bytes_loaded"] = n.bytes_loaded;
  out["bytes_stored"] = n.bytes_stored;
  out["op_per_byte_loaded"] = n.op_per_byte_loaded();
  out["op_per_byte_moved"] = n.op_per_byte_moved();
  if (c.declared) {
    out["declared"] = {{"bytes_loaded", c.declared->loaded},
                       {"bytes_stored", c.declared->stored},
                       {"op_per_byte_loaded", share(c.useful_flops, c.declared->loaded)},
                       {"agrees", c.agrees()}};
  }
  out["load_requests"] = n.load_requests;
  out["load_sectors"] = n.load_sectors;
  out["sectors_per_load_request"] = n.sectors_per_load_request();
  out["store_requests"] = n.store_requests;
  out["store_sectors"] = n.store_sectors;
  out["sectors_per_store_request"] = n.sectors_per_store_request();
  out["shared_load_requests"] = n.shared_load_requests;
  out["shared_load_wavefronts"] = n.shared_load_wavefronts;
  out["shared_store_requests"] = n.shared_store_requests;
  out["shared_store_wavefronts"] = n.shared_store_wavefronts;
  out["shared_atomic_requests"] = n.shared_atomic_requests;
  out["atomic_requests"] = n.atomic_requests;
  out["atomic_sectors"] = n.atomic_sectors;
  out["async_requests"] = n.async_requests;
  out["async_sectors"] = n.async_sectors;
  out["constant_requests"] = n.constant_requests;
  out["divergent_requests"] = n.divergent_requests;
  out["barriers"] = n.barriers;
  out["warp_barriers"] = n.warp_barriers;
  out["shuffles"] = n.shuffles;
  if (options.caches) out["caches"] = caches_json(n.caches, *options.caches);
  if (options.lines) out["lines"] = to_json(counts_by_line(n));
  out["verified"] = n.check.passed();
  out["max_error_ratio"] = n.check.max_error_ratio;
  out["accesses"] = n.accesses;
  out["seconds"] = n.seconds;
  out["accesses_per_second"] = c.accesses_per_second();
  return out;
}

}  // namespace rung
