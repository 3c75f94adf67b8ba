/// What a reader needs to know about the machine, the build and the run to trust a number or to reproduce it.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "build_info.hpp"
#include "common/harness/results.hpp"

namespace rung {
namespace {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S+00:00", std::gmtime(&now));
  return text;
}

Json caches(const benchmark::CPUInfo& cpu) {
  Json all = Json::array();
  for (const auto& cache : cpu.caches)
    all.push_back(
        {{"type", cache.type}, {"level", cache.level}, {"size", cache.size}, {"num_sharing", cache.num_sharing}});
  return all;
}

bool aslr_enabled() {
  std::FILE* file = std::fopen("/proc/sys/kernel/randomize_va_space", "r");
  if (!file) return false;
  const int mode = std::fgetc(file);
  std::fclose(file);
  return mode != '0';
}

}  // namespace

std::string program_checksum() {
  static const std::string sum = [] {
    std::ostringstream bytes;
    bytes << std::ifstream("/proc/self/exe", std::ios::binary).rdbuf();
    return checksum(bytes.str());
  }();
  return sum;
}

Json base_context(const std::string& command_line) {
  const benchmark::CPUInfo& cpu = benchmark::CPUInfo::Get();
  Json context{{"date", utc_now()},
               {"host_name", benchmark::SystemInfo::Get().name},
               {"executable", std::filesystem::read_symlink("/proc/self/exe").filename().string()},
               {"num_cpus", cpu.num_cpus},
               {"mhz_per_cpu", static_cast<int>(cpu.cycles_per_second / 1e6 + 0.5)},
               {"cpu_scaling_enabled", cpu.scaling == benchmark::CPUInfo::Scaling::ENABLED},
               {"aslr_enabled", aslr_enabled()},
               {"caches", caches(cpu)},
               {"load_avg", cpu.load_avg},
               {"library_build_type", "release"},
               {"schema_version", kSchemaVersion},
               {"rung_version", build::kVersion},
               {"git_commit", build::kCommit},
               {"git_dirty", build::kDirty},
               {"program", program_checksum()},
               {"cxx_compiler", build::kCxxCompiler},
               {"cxx_flags", build::kCxxFlags},
               {"cuda_compiler", build::kCudaCompiler},
               {"cuda_flags", build::kCudaFlags},
               {"command_line", command_line}};
  if (*build::kNoCommit) context["git_commit_unavailable"] = build::kNoCommit;
  return context;
}

}  // namespace rung
