#include "common/emulator/half_warps.hpp"

#include <algorithm>
#include <map>

namespace rung {
namespace {

constexpr int kWordsOfSector = 8, kSectorsOfLine = 4;
constexpr unsigned kLowerHalf = 3, kUpperHalf = 12, kWhole = 15;

std::uint64_t line_of(std::int32_t word) {
  return static_cast<std::uint64_t>(word) / (kWordsOfSector * kSectorsOfLine);
}
unsigned sector_of(std::int32_t word) { return 1u << word / kWordsOfSector % kSectorsOfLine; }

/// The half of the line that has all these sectors, or the line.
unsigned half_or_whole(unsigned sectors) {
  return (sectors & ~kLowerHalf) == 0 ? kLowerHalf : (sectors & ~kUpperHalf) == 0 ? kUpperHalf : kWhole;
}

bool is_one(unsigned sectors) { return (sectors & (sectors - 1)) == 0; }

}  // namespace

/// Whether lane i of the half warp has the i-th word of an aligned segment.
bool HalfWarps::is_in_order(int first, int bytes) const {
  if (bytes < 4) return false;
  const std::int32_t step = bytes / 4, segment = kLanes * step;
  std::int32_t begin = -1;
  for (int lane = first; lane < first + kLanes; ++lane) {
    if (!is_active(lane)) continue;
    const std::int32_t from = words_[lane] - (lane - first) * step;
    if (from < 0 || from % segment != 0 || (begin >= 0 && from != begin)) return false;
    begin = from;
  }
  return true;
}

/// Compute capability 1.2 and 1.3; also what lanes in order make on 1.0.
void HalfWarps::add_segments(RequestStream& stream, int first, int bytes, bool is_store) const {
  std::map<std::uint64_t, unsigned> touched;  // sectors by line
  for (int lane = first; lane < first + kLanes; ++lane)
    if (is_active(lane)) touched[line_of(words_[lane])] |= sector_of(words_[lane]);
  for (const auto& [line, sectors] : touched) {
    if (bytes >= 4) {
      stream.add(line, is_one(sectors) ? sectors : half_or_whole(sectors), is_store);
      continue;
    }
    for (const unsigned half : {kLowerHalf, kUpperHalf}) {  // segments of 64 bytes, or of 32
      const unsigned mine = sectors & half;
      if (mine == 0) continue;
      if (bytes == 2 || is_one(mine)) {
        stream.add(line, mine, is_store);
      } else {
        stream.add(line, mine & 5, is_store);
        stream.add(line, mine & 10, is_store);
      }
    }
  }
}

void HalfWarps::add_to(RequestStream& stream, int bytes, bool is_store, const Device& device) const {
  for (const int first : {0, kLanes}) {
    if (device.minor >= 2) {
      add_segments(stream, first, bytes, is_store);
      continue;
    }
    // In order, the segment is fetched whole, whichever lanes are missing.
    const bool is_in_order = this->is_in_order(first, bytes);
    std::map<std::uint64_t, unsigned> segment;
    for (int lane = first; lane < first + kLanes; ++lane) {
      if (!is_active(lane)) continue;
      const std::uint64_t line = line_of(words_[lane]);
      const unsigned sector = sector_of(words_[lane]);
      if (!is_in_order)
        stream.add(line, sector, is_store);
      else
        segment[line] |= bytes == 4 ? half_or_whole(sector) : kWhole;
    }
    for (const auto& [line, sectors] : segment) stream.add(line, sectors, is_store);
  }
}

}  // namespace rung
