/// Pictures in the PGM (grey) and PPM (colour) formats of Netpbm, as text or binary (P2, P3, P5, P6), with 8 or 16 bits
/// a sample.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace rung {

struct Picture {
  std::string magic;  ///< "P2", "P3", "P5" or "P6"
  int rows = 0, cols = 0, largest = 0;
  std::vector<std::vector<float>> planes;  ///< one of each channel, row by row: whole numbers from 0 to `largest`
};

/// Throws Error that names the file and what is wrong with it.
Picture read_picture(const std::filesystem::path& file);
/// The same of a file's bytes.
Picture parse_picture(std::string bytes, const std::filesystem::path& file);

/// Rounds each sample to the nearest whole number. Throws OutputError.
void write_picture(const std::filesystem::path& file, const Picture& picture);

}  // namespace rung
