#include "common/machine/openblas.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "common/machine/cpu_info.hpp"

// In a program linked without OpenBLAS these are null.
extern "C" {
char* openblas_get_config() __attribute__((weak));
char* openblas_get_corename() __attribute__((weak));
int openblas_get_parallel() __attribute__((weak));
}

namespace rung {
namespace {

bool has_openblas() { return openblas_get_config && openblas_get_corename && openblas_get_parallel; }

}  // namespace

nlohmann::json openblas_context() {
  nlohmann::json all = nlohmann::json::object();
  if (!has_openblas()) return all;
  std::istringstream words(openblas_get_config());  // "OpenBLAS 0.3.21 DYNAMIC_ARCH …"
  std::string name, version;
  words >> name >> version;
  all["blas_name"] = name;
  all["blas_version"] = version;
  all["blas_core"] = openblas_get_corename();
  const char* threading[] = {"none", "pthreads", "openmp"};
  const int parallel = openblas_get_parallel();
  all["blas_threading"] = parallel >= 0 && parallel <= 2 ? threading[parallel] : "unknown";
  return all;
}

std::string better_openblas_core() {
  constexpr std::array<std::string_view, 5> before_avx{"Prescott", "Core2", "Penryn", "Dunnington", "Nehalem"};
  if (!has_openblas() || std::getenv("OPENBLAS_CORETYPE")) return "";
  if (std::find(before_avx.begin(), before_avx.end(), openblas_get_corename()) == before_avx.end()) return "";
  const std::string& simd = cpu_info().simd;
  return simd == "AVX-512" ? "SkylakeX" : simd == "AVX2" ? "Haswell" : "";
}

}  // namespace rung
