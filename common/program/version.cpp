#include "common/program/version.hpp"

#include <nlohmann/json.hpp>

#include "build_info.hpp"
#include "build_libraries.hpp"

namespace rung {
namespace {

std::string commit() {
  const std::string why = build::kNoCommit;
  return std::string(build::kCommit) + (why.empty() ? "" : " (" + why + ")") + (build::kDirty ? " with changes" : "");
}

std::string cuda() {
  const std::string compiler = build::kCudaCompiler;
  return compiler == " " ? "none: the GPU side is emulated and counted, not timed" : compiler;
}

}  // namespace

std::string version_text() {
  std::string with, without;
  for (const build::Library& library : build::kLibraries) {
    std::string& list = std::string(library.state) == "missing" ? without : with;
    list += (list.empty() ? "" : ", ") + std::string(library.name);
    if (*library.version) list += " " + std::string(library.version);
  }
  return "rung " + std::string(build::kVersion) + "\ncommit     " + commit() + "\ncompiler   " + build::kCxxCompiler +
         build::kCxxFlags + "\nCUDA       " + cuda() + "\nwith       " + with +
         (without.empty() ? "" : "\nwithout    " + without);
}

nlohmann::ordered_json version_json() {
  nlohmann::ordered_json libraries = nlohmann::ordered_json::object();
  for (const build::Library& library : build::kLibraries)
    libraries[library.name] = {{"version", library.version}, {"state", library.state}};
  return {{"version", build::kVersion}, {"commit", commit()}, {"compiler", build::kCxxCompiler},
          {"flags", build::kCxxFlags},  {"cuda", cuda()},     {"libraries", libraries}};
}

}  // namespace rung
