/// The libraries that this program was built with and without.
#include "common/doctor/doctor.hpp"

namespace rung::doctor {
namespace {

std::vector<Finding> look(const System& system) {
  std::vector<Finding> findings;
  std::string with;
  for (const LibraryFound& library : system.libraries) {
    if (library.state != "missing")
      with += (with.empty() ? "" : ", ") + library.name + (library.version.empty() ? "" : " " + library.version);
    else
      findings.push_back({.what = library.name,
                          .verdict = Verdict::costs,
                          .found = "rung was built without it",
                          .cost = library.cost,
                          .remedy = "install " + library.package + " (its name in Debian and Ubuntu) and build again"});
  }
  findings.insert(findings.begin(), Finding{.what = "libraries", .found = with});
  if (!system.preloaded.empty())
    findings.push_back({.what = "loader",
                        .verdict = Verdict::costs,
                        .found = system.preloaded,
                        .cost = "other code stands between rung and its libraries; results name it",
                        .remedy = "unset it, unless it is meant"});
  if (!system.no_commit.empty())
    findings.push_back({.what = "commit",
                        .verdict = Verdict::costs,
                        .found = "unknown: " + system.no_commit,
                        .cost = "results do not say which version of the kernels gave them",
                        .remedy =
                            "in a checkout of another owner: git config --global --add safe.directory FOLDER; then "
                            "build again"});
  return findings;
}

const bool added = add_check({.order = 10, .look = look});

}  // namespace
}  // namespace rung::doctor
