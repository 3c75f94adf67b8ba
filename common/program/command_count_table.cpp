#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "common/harness/results.hpp"
#include "common/model/devices.hpp"
#include "common/program/command_count.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

double accesses_per_second(const Counts& counts) {
  return counts.seconds > 0 ? static_cast<double>(counts.accesses) / counts.seconds : 0;
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

/// A row that is empty for most kernels.
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

void print_memory(const Counts& n, const std::optional<Traffic>& declared) {
  print_heading("Global memory                          requested, before any cache");
  print_row("loaded", n.bytes_loaded, "B", declared ? declared_note(declared->loaded, n.bytes_loaded) : "");
  print_row("stored", n.bytes_stored, "B", declared ? declared_note(declared->stored, n.bytes_stored) : "");
  print_row("load requests", n.load_requests, "", "of a warp");
  print_row("  sectors of 32 B", n.load_sectors, "", fmt::format("{:#.3g} per request", n.sectors_per_load_request()));
  print_row("store requests", n.store_requests);
  print_row("  sectors of 32 B", n.store_sectors, "",
            fmt::format("{:#.3g} per request", n.sectors_per_store_request()));
  print_requests_if_any("atomic requests", n.atomic_requests, n.atomic_sectors, "");
  print_requests_if_any("asynchronous copies", n.async_requests, n.async_sectors, "requests, into shared memory");
  print_requests_if_any("tiles loaded", n.bulk.loads, n.bulk.sectors_loaded, "by TMA, into shared memory");
  print_requests_if_any("tiles stored", n.bulk.stores, n.bulk.sectors_stored, "by TMA, from shared memory");
  if (n.bulk.products + n.bulk.loads + n.bulk.stores > 0)
    fmt::print("  what TMA and wgmma do in shared memory is not counted in requests and wavefronts\n");
  print_if_any("constant-memory requests", n.constant_requests, fmt::format("{} words", n.constant_words));
}

void print_shared_memory(const Counts& n) {
  if (n.shared_load_requests + n.shared_store_requests + n.shared_atomic_requests + n.async_store_requests == 0) return;
  print_heading("Shared memory");
  const auto conflicts = [](std::uint64_t wavefronts, std::uint64_t requests) {
    return wavefronts == requests ? std::string("no bank conflicts") : fmt::format("{} wavefronts", wavefronts);
  };
  print_row("load requests", n.shared_load_requests, "", conflicts(n.shared_load_wavefronts, n.shared_load_requests));
  print_row("store requests", n.shared_store_requests, "",
            conflicts(n.shared_store_wavefronts, n.shared_store_requests));
  print_if_any("atomic requests", n.shared_atomic_requests, fmt::format("{} wavefronts", n.shared_atomic_wavefronts));
  print_if_any("asynchronous stores", n.async_store_requests, fmt::format("{} wavefronts", n.async_store_wavefronts));
}

void print_warps(const Counts& n) {
  const auto has = [&](const EventCount& one) { return n.*one.member > 0; };
  if (std::none_of(std::begin(kEventCounts), std::end(kEventCounts), has)) return;
  print_heading("Warps");
  for (const EventCount& one : kEventCounts) print_if_any(one.label, n.*one.member, one.note);
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

void print_ratios(const Counts& n, double useful_flops, const std::optional<Traffic>& declared) {
  print_heading("Operations per byte");
  print_ratio("loads", n.op_per_byte_loaded());
  if (declared) {
    const bool agrees = declared->loaded == static_cast<double>(n.bytes_loaded) &&
                        declared->stored == static_cast<double>(n.bytes_stored);
    print_ratio("  by the declared formula", share(useful_flops, declared->loaded),
                agrees ? "bytes agree exactly" : "BYTES DIFFER");
  }
  print_ratio("loads and stores", n.op_per_byte_moved());
}

}  // namespace

void print_table(const Point& point, const CountedRun& counted, const EmulatorOptions& options) {
  const auto& [n, check] = counted;
  const Params params = point.params();
  const double useful = point.problem->flops(params);
  std::optional<Traffic> declared;
  if (point.kernel->gpu.requested) declared = point.kernel->gpu.requested(params);
  fmt::print("{}\n{}\n", point.name(), rule());
  fmt::print("Operations\n");
  print_operations("FP32", n.fp32);
  print_operations("FP64", n.fp64);
  print_if_any("tensor-core multiply-add", n.tensor.fmas, "2 operations each, of a warp's matrix instructions");
  print_if_any("wgmma instructions", n.bulk.products, "one for each warp");
  const bool exact = static_cast<double>(n.flops()) == useful;
  const bool has_fewer = static_cast<double>(n.flops()) < useful;  // as of an algorithm that needs fewer
  print_row(
      "together", n.flops(), "flop",
      n.flops() == 0 && !has_fewer ? ""
      : exact                      ? "all useful"
      : has_fewer
          ? fmt::format("FEWER than the {:.0f} useful ones: is a result in a plain variable, not a reg<T>?", useful)
          : fmt::format("useful: {:.0f}", useful));
  print_memory(n, declared);
  print_shared_memory(n);
  print_warps(n);
  if (options.caches) print_caches(n.caches, *options.caches);
  if (n.flops() > 0) print_ratios(n, useful, declared);
  print_heading("Emulation");
  print_row("result", check.passed() ? "verified" : "WRONG", "",
            check.passed() ? fmt::format("error {:.2g} of its bound", check.max_error_ratio) : "");
  print_row("thread order, seed", fmt::format("{}, {}", kOrderNames[static_cast<int>(options.order)], options.seed), "",
            "");
  print_row("accesses", n.accesses, "",
            fmt::format("{:.3g} s, {:.3g} million/s", n.seconds, accesses_per_second(n) / 1e6));
  fmt::print(
      "\n  Counted as the source says. A GPU's compiler may fuse a product with a sum of a later statement,\n"
      "  merge or drop accesses, unroll loops with edges of their own, join branches, and make one atomic\n"
      "  of a warp's.\n\n");
  if (options.lines) print_lines(counts_by_line(n));
}

Json to_json(const Operations& done) {
  return {{"adds", done.adds}, {"muls", done.muls}, {"fmas", done.fmas}, {"specials", done.specials}};
}

Json to_json(const Point& point, const CountedRun& counted, const EmulatorOptions& options) {
  Json out = counted_entry(point, counted);
  out["verified"] = counted.check.passed();
  out["accesses_per_second"] = accesses_per_second(counted.counts);
  if (options.lines) out["lines"] = to_json(counts_by_line(counted.counts));
  return out;
}

}  // namespace rung
