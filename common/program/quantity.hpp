/// Amounts as users write them.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace rung {

/// "32768", "32KiB", "32 KB" or "32k" to bytes. As in CUDA's documents KB, MB and GB are powers of 1024 here; so is
/// every capacity that the tables show, and the amount is echoed. Throws Error unless it is a whole number of bytes
/// from 0 on.
std::int64_t parse_bytes(const std::string& text);

/// "256", "16x16" or "8x8x4" to the threads along x, y and z. Throws Error unless each is a positive whole number.
std::array<std::int64_t, 3> parse_threads(const std::string& text);

/// "0.25", "0.25 OP/B" or "0.25 FLOP/B" to a ratio. Throws Error if it is something else or negative.
double parse_ratio(const std::string& text);

/// "32 KiB" where it is whole KiB, else "100 B".
std::string bytes_text(std::int64_t bytes);

/// The same, followed by the bytes if they are not shown already: "32 KiB (32768 B)".
std::string echoed_bytes(std::int64_t bytes);

}  // namespace rung
