/// `rung doctor`: what this machine and this build have and lack, what each lack costs, and how to fix it.
#include <fmt/core.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "common/doctor/doctor.hpp"
#include "common/json_text.hpp"
#include "common/program/commands.hpp"
#include "common/program/version.hpp"

namespace rung {
namespace {

using doctor::Finding;
using doctor::Verdict;

const char* word_of(Verdict verdict) {
  return verdict == Verdict::good ? "good" : verdict == Verdict::costs ? "costs" : "wrong";
}

std::size_t count_of(const std::vector<Finding>& findings, Verdict verdict) {
  return static_cast<std::size_t>(
      std::count_if(findings.begin(), findings.end(), [verdict](const Finding& it) { return it.verdict == verdict; }));
}

void print_json(const std::vector<Finding>& findings) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json entry{
        {"what", finding.what}, {"verdict", word_of(finding.verdict)}, {"found", finding.found}};
    if (!finding.cost.empty()) entry["cost"] = finding.cost;
    if (!finding.remedy.empty()) entry["remedy"] = finding.remedy;
    all.push_back(std::move(entry));
  }
  const nlohmann::ordered_json document{{"version", version_json()},
                                        {"findings", all},
                                        {"wrong", count_of(findings, Verdict::wrong)},
                                        {"costs", count_of(findings, Verdict::costs)}};
  fmt::print("{}\n", json_text(document, 1));
}

void print_text(const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    fmt::print("{:<5}  {:<16} {}\n", word_of(finding.verdict), finding.what, finding.found);
    if (!finding.cost.empty()) fmt::print("{:<24}costs: {}\n", "", finding.cost);
    if (!finding.remedy.empty()) fmt::print("{:<24}mend: {}\n", "", finding.remedy);
  }
  fmt::print("{} wrong, {} that cost something, {} good\n", count_of(findings, Verdict::wrong),
             count_of(findings, Verdict::costs), count_of(findings, Verdict::good));
}

void add(Command program) {
  auto as_json = std::make_shared<bool>(false);
  Command command =
      program.add_subcommand("doctor", "what this machine and this build lack, what that costs, and how to fix it");
  command.add_flag("--json", *as_json, "as JSON");
  command.footer(
      "Ends with 0 if nothing is wrong, though something may cost; with 1 if something is wrong: results would be "
      "lost\n"
      "or misleading, or a GPU that is there cannot be used.");
  command.callback([as_json] {
    const std::vector<Finding> findings = doctor::diagnose(doctor::this_system());
    *as_json ? print_json(findings) : print_text(findings);
    std::fflush(stdout);
    if (count_of(findings, Verdict::wrong) > 0) std::exit(1);
  });
}

const bool added = add_command({.order = 120, .add = add});

}  // namespace
}  // namespace rung
