/// `rung count`: what a GPU kernel does, counted by executing it on the emulator, beside what its record declares.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/harness/commands.hpp"
#include "common/problem/problem.hpp"
#include "common/registry.hpp"
#include "gpu/simt/emulator.hpp"

namespace rung {
namespace {

using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> patterns, settings;
  Params given;
  std::string order = "forward";
  std::uint64_t seed = 1;
  bool json = false;
};

/// One kernel's counts with what they are compared with.
struct Counted {
  const Kernel* kernel;
  Params params, tunables, brief_sizes;
  double useful_flops = 0;
  std::optional<Traffic> declared;
  Counts counts;

  bool agrees() const {
    return declared && declared->loaded == static_cast<double>(counts.bytes_loaded) &&
           declared->stored == static_cast<double>(counts.bytes_stored);
  }
  double accesses_per_second() const {
    return counts.seconds > 0 ? static_cast<double>(counts.accesses) / counts.seconds : 0;
  }
};

/// The sizes and tunables that GPU kernels have: each is an option of the command.
std::set<std::string> setting_names(const std::vector<const Kernel*>& chosen) {
  std::set<std::string> names;
  for (const Kernel* kernel : chosen) {
    for (const std::string& size : find_problem(kernel->family()).size_names) names.insert(size);
    for (const Tunable& tunable : kernel->tunables) names.insert(tunable.name);
  }
  return names;
}

std::vector<const Kernel*> gpu_kernels() {
  std::vector<const Kernel*> all;
  for (const Kernel& kernel : kernels())
    if (kernel.side() == "gpu") all.push_back(&kernel);
  return all;
}

/// name=value of --set.
void add_setting(Params& given, const std::string& setting) {
  const std::size_t equals = setting.find('=');
  std::int64_t value = 0;
  const char* const end = setting.data() + setting.size();
  const char* const begin = equals == std::string::npos ? end : setting.data() + equals + 1;
  const auto [rest, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || rest != end) throw Error("--set " + setting + ": write it as NAME=WHOLE_NUMBER");
  given.set(setting.substr(0, equals), value);
}

/// Refuses a name that is neither a size nor a tunable of any of the kernels.
void check_names(const Params& given, const std::vector<const Kernel*>& chosen) {
  const std::set<std::string> names = setting_names(chosen);
  const std::vector<std::string> known(names.begin(), names.end());
  for (const auto& [name, value] : given)
    if (!names.contains(name))
      throw Error("'" + name + "' is neither a size nor a tunable of " +
                  (chosen.size() == 1 ? chosen[0]->name : "these kernels") + did_you_mean(name, known));
}

Counted count_kernel(const Kernel& kernel, const Params& given, const EmulatorOptions& options) {
  const Problem& problem = find_problem(kernel.family());
  Counted out{.kernel = &kernel,
              .params = emulated_params(kernel, given),
              .tunables = with_tunables(kernel, given),
              .counts = count(kernel, given, options)};
  Params sizes;
  for (const auto& [name, value] : out.params)
    if (!out.tunables.has(name)) sizes.set(name, value);
  out.brief_sizes = problem.brief ? problem.brief(sizes) : sizes;
  out.useful_flops = problem.flops(out.params);
  if (kernel.requested) out.declared = kernel.requested(out.params);
  return out;
}

std::string point_name(const Counted& c) {
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

std::string declared_note(double declared, std::uint64_t counted) {
  if (declared == static_cast<double>(counted)) return "as declared";
  return fmt::format("declared: {:.0f}", declared);
}

void print_memory(const Counted& c) {
  const Counts& n = c.counts;
  print_heading("Global memory                          requested, before any cache");
  print_row("loaded", n.bytes_loaded, "B", c.declared ? declared_note(c.declared->loaded, n.bytes_loaded) : "");
  print_row("stored", n.bytes_stored, "B", c.declared ? declared_note(c.declared->stored, n.bytes_stored) : "");
  print_row("load requests", n.load_requests, "", "of a warp");
  print_row("  sectors of 32 B", n.load_sectors, "", fmt::format("{:#.3g} per request", n.sectors_per_load_request()));
  print_row("store requests", n.store_requests);
  print_row("  sectors of 32 B", n.store_sectors, "",
            fmt::format("{:#.3g} per request", n.sectors_per_store_request()));
  const std::uint64_t shared = n.shared_load_requests + n.shared_store_requests;
  if (shared == 0 && n.barriers == 0) return;
  print_heading("Shared memory");
  const auto conflicts = [](std::uint64_t wavefronts, std::uint64_t requests) {
    return wavefronts == requests ? std::string("no bank conflicts") : fmt::format("{} wavefronts", wavefronts);
  };
  print_row("load requests", n.shared_load_requests, "", conflicts(n.shared_load_wavefronts, n.shared_load_requests));
  print_row("store requests", n.shared_store_requests, "",
            conflicts(n.shared_store_wavefronts, n.shared_store_requests));
  print_row("barriers", n.barriers, "", "one for each warp that arrives");
}

void print_ratios(const Counted& c) {
  print_heading("Operations per byte");
  print_ratio("loads", c.counts.op_per_byte_loaded());
  if (c.declared)
    print_ratio("  by the declared formula", share(c.useful_flops, c.declared->loaded),
                c.agrees() ? "bytes agree exactly" : "BYTES DIFFER");
  print_ratio("loads and stores", c.counts.op_per_byte_moved());
}

void print_table(const Counted& c, const EmulatorOptions& options) {
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
  if (n.flops() > 0) print_ratios(c);
  print_heading("Emulation");
  print_row("result", n.check.passed() ? "verified" : "WRONG", "",
            n.check.passed() ? fmt::format("error {:.2g} of its bound", n.check.max_error_ratio) : "");
  print_row("thread order, seed", fmt::format("{}, {}", kOrderNames[static_cast<int>(options.order)], options.seed), "",
            "");
  print_row("accesses", n.accesses, "",
            fmt::format("{:.3g} s, {:.3g} million/s", n.seconds, c.accesses_per_second() / 1e6));
  fmt::print("\n");
}

Json operations_json(const Operations& done) {
  return {{"adds", done.adds}, {"muls", done.muls}, {"fmas", done.fmas}, {"specials", done.specials}};
}

Json to_json(const Counted& c) {
  const Counts& n = c.counts;
  Json out{{"name", point_name(c)}, {"kernel", c.kernel->name}};
  for (const auto& [name, value] : c.params) out["params"][name] = value;
  out["fp32"] = operations_json(n.fp32);
  out["fp64"] = operations_json(n.fp64);
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
  out["barriers"] = n.barriers;
  out["verified"] = n.check.passed();
  out["max_error_ratio"] = n.check.max_error_ratio;
  out["accesses"] = n.accesses;
  out["seconds"] = n.seconds;
  out["accesses_per_second"] = c.accesses_per_second();
  return out;
}

/// Counts a kernel and shows it; returns what is wrong with its result, if anything is.
std::string count_and_show(const Kernel& kernel, const Params& given, const EmulatorOptions& how, Json* json) try {
  const Counted counted = count_kernel(kernel, given, how);
  json ? json->push_back(to_json(counted)) : print_table(counted, how);
  const Check& check = counted.counts.check;
  if (check.passed()) return "";
  return kernel.name + " gave a wrong result: " +
         (check.failure.empty() ? fmt::format("{:.3g} times the bound", check.max_error_ratio) : check.failure);
} catch (const WrongResult& failure) {
  return failure.what();
}

/// Counts the kernels of all patterns. One that cannot be emulated or refuses the case is an error if it is the only
/// one, else it is left out, with a line.
void run(const Options& options) {
  Params given = options.given;
  for (const std::string& setting : options.settings) add_setting(given, setting);
  const EmulatorOptions how{.order = order_of(options.order), .seed = options.seed};
  std::vector<const Kernel*> chosen;
  for (const std::string& pattern : options.patterns)
    for (const Kernel* kernel : match_kernels(pattern)) chosen.push_back(kernel);
  check_names(given, chosen);

  Json json = Json::array();
  std::vector<std::string> wrong;
  std::size_t left_out = 0;
  for (const Kernel* kernel : chosen) try {
      const std::string what = count_and_show(*kernel, given, how, options.json ? &json : nullptr);
      if (!what.empty()) wrong.push_back(what);
    } catch (const Error& error) {
      if (chosen.size() == 1) throw;
      fmt::print(stderr, "left out: {}\n", error.what());
      ++left_out;
    }
  if (options.json) fmt::print("{}\n", json.dump(2));
  if (left_out == chosen.size()) throw Error("none of these kernels can be counted; `rung list` shows them all");
  if (!wrong.empty()) throw WrongResult(fmt::format("{}", fmt::join(wrong, "; ")));
}

}  // namespace

void add_count_command(CLI::App& app) {
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand("count", "what a GPU kernel does, counted on the emulator (needs no GPU)");
  command->add_option("KERNEL", options->patterns, "names or globs, as gpu/matmul/*")->required();
  for (const std::string& name : setting_names(gpu_kernels()))
    command
        ->add_option_function<std::int64_t>("--" + name, [=](std::int64_t value) { options->given.set(name, value); })
        ->group("Sizes and tunables, of the kernels that have them");
  command->add_option("--set", options->settings, "the same, as tile=16");
  command->add_option("--order", options->order, "in which threads run: forward, reverse or random");
  command->add_option("--seed", options->seed, "of the inputs and of the random order");
  command->add_flag("--json", options->json, "as JSON");
  command->callback([options] { run(*options); });
}

}  // namespace rung
