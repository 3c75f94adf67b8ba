/// The documents that kernels and experiments cite: experiments/sources.toml.
#pragma once

#include <map>
#include <string>

#include "common/registry.hpp"

namespace rung {

struct Source {
  std::string author, title, year;  ///< year: empty if it is not known
};

/// Every entry, by id; empty where the file is not there. Throws Error if it is not what it should be.
const std::map<std::string, Source>& sources();

/// Throws Error, with the nearest entry, if there is none for it.
void require_source(const Citation& citation);

/// "Bin Zhou, CUDA/GPU Programming (2), 2015, slide 12"; the id alone if there is no entry for it.
std::string cited(const Citation& citation);

}  // namespace rung
