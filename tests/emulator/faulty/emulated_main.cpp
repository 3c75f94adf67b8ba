/// What the emulator says of the planted faults and of their right twins (`cmake --build build --target
/// faulty_kernels_emulated` builds it):
///   faulty_kernels_emulated           one line for each
///   faulty_kernels_emulated --json    the same as JSON, for experiments/recorded/MACHINE/hazards.json
/// Exit codes: 0 every fault is found in every order and no twin alarms, 1 not so, 2 wrong usage.
#include <chrono>
#include <cstdio>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string_view>

#include "tests/emulator/faulty/emulated_run.hpp"

namespace rung {
namespace {

struct Verdict {
  bool found = false;   ///< the planted fault, in every order; of a right twin, anything in any order
  std::string message;  ///< the first finding, preferably of the fault
};

Verdict verdict_on(const Faulty& faulty) {
  Verdict verdict{.found = !faulty.is_right()};
  for (const Order order : {Order::forward, Order::reverse, Order::random}) {
    const std::vector<Finding> found = findings_of(faulty, order);
    const auto named = std::find_if(found.begin(), found.end(), [&](const Finding& f) { return names(f, faulty); });
    if (faulty.is_right()) {
      verdict.found |= !found.empty();
    } else {
      verdict.found &= named != found.end();
    }
    if (verdict.message.empty() && !found.empty())
      verdict.message = (named == found.end() ? found.begin() : named)->text();
  }
  return verdict;
}

std::string now() {
  const std::time_t time = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  char text[32] = "";
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", std::gmtime(&time));
  return text;
}

int report(bool as_json) {
  nlohmann::ordered_json kernels;
  bool is_good = true;
  for (const Faulty& faulty : faulty_kernels()) {
    const Verdict verdict = verdict_on(faulty);
    is_good &= verdict.found != faulty.is_right();
    kernels[faulty.name] = {{"what", faulty.what},
                            {"is_right", faulty.is_right()},
                            {"file", faulty.file},
                            {"emulator", {{"found", verdict.found}, {"message", verdict.message}}}};
    if (!faulty.is_right() && faulty.has_values())
      if (const auto wrong = wrong_elements(faulty, Order::forward))
        kernels[faulty.name]["emulator"]["wrong_elements"] = *wrong;
    if (!as_json)
      std::printf("%-5s %s: %s\n", verdict.found == faulty.is_right() ? "WRONG" : "ok", faulty.name.c_str(),
                  verdict.found ? verdict.message.c_str() : "nothing found");
  }
  const nlohmann::ordered_json result = {
      {"machine", "any"}, {"date", now()}, {"tool", "the emulator"}, {"kernels", kernels}};
  if (as_json) std::printf("%s\n", result.dump(1).c_str());
  return is_good ? 0 : 1;
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  const bool as_json = argc == 2 && std::string_view(argv[1]) == "--json";
  if (argc > 1 && !as_json) {
    std::fputs("usage: faulty_kernels_emulated [--json]\n", stderr);
    return 2;
  }
  return rung::report(as_json);
}
