/// What OpenBLAS reports about itself, in a program that uses it for CPU kernels.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rung {

/// blas_name, blas_version, blas_core (whose code it runs) and blas_threading; empty without OpenBLAS.
nlohmann::json openblas_context();

/// The core to name in OPENBLAS_CORETYPE where the library did not recognise the CPU and chose the code of a core from
/// before AVX, several times slower: "SkylakeX" or "Haswell". Empty if it chose well, or if OPENBLAS_CORETYPE is set.
std::string better_openblas_core();

}  // namespace rung
