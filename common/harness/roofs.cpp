#include "common/harness/roofs.hpp"

#include <algorithm>

namespace rung {
namespace {

constexpr double kTolerance = 1.01;
constexpr double kBeyondCaches = 4;  // times the last-level cache: what is left in it from the run before hardly counts

bool is_memory_roof(const Point& roof) {
  return roof.kernel->ceiling->is_bandwidth && roof.kernel->ceiling->label.starts_with("DRAM");
}

bool judges(const Point& roof, const Point& point, bool by_memory) {
  if (point.kernel->error_bound != ErrorBound{}) return false;
  const int threads = point.kernel->cpu.is_serial ? 1 : point.threads;
  if (roof.kernel->side() != point.kernel->side() || roof.threads != threads) return false;
  return by_memory ? is_memory_roof(roof)
                   : !roof.kernel->ceiling->is_bandwidth && roof.kernel->type == point.kernel->type;
}

/// The roofs of one kind that judge `point`, if it exceeds the highest of them.
std::vector<const Point*> exceeded(const std::vector<MeasuredPoint>& measured, const MeasuredPoint& one,
                                   bool by_memory) {
  std::vector<const Point*> roofs;
  double highest = 0;
  for (const MeasuredPoint& roof : measured) {
    if (!roof.point->is_roof || !judges(*roof.point, *one.point, by_memory)) continue;
    roofs.push_back(roof.point);
    highest = std::max(highest, by_memory ? roof.gbytes_per_s : roof.gflops);
  }
  const double rate = by_memory ? one.gbytes_per_s : one.gflops;
  if (rate <= kTolerance * highest) roofs.clear();
  return roofs;
}

}  // namespace

std::vector<const Point*> exceeded_roofs(const std::vector<MeasuredPoint>& measured, double cached_bytes) {
  std::vector<const Point*> all;
  for (const MeasuredPoint& one : measured) {
    if (one.point->is_roof || one.point->way != Way::hot) continue;
    const bool from_memory = one.point->problem->compulsory_bytes(one.point->params()) > kBeyondCaches * cached_bytes;
    for (const bool by_memory : {false, true})
      if (!by_memory || from_memory)
        for (const Point* roof : exceeded(measured, one, by_memory))
          if (std::find(all.begin(), all.end(), roof) == all.end()) all.push_back(roof);
  }
  return all;
}

std::vector<AboveRoof> points_above_roofs(const std::vector<MeasuredPoint>& measured, double cached_bytes) {
  std::vector<AboveRoof> above;
  for (const MeasuredPoint& one : measured) {
    if (one.point->is_roof || one.point->way != Way::hot) continue;
    const double bytes = one.point->problem->compulsory_bytes(one.point->params());
    for (const bool by_memory : {false, true}) {
      if (by_memory && bytes <= kBeyondCaches * cached_bytes) continue;
      double highest = 0;
      std::vector<const Point*> roofs;
      for (const MeasuredPoint& roof : measured) {
        if (!roof.point->is_roof || !judges(*roof.point, *one.point, by_memory)) continue;
        roofs.push_back(roof.point);
        const bool has_clocks = roof.clock_mhz > 0 && one.clock_mhz > 0;
        const double faster = has_clocks ? std::max(1.0, one.clock_mhz / roof.clock_mhz) : 1;
        highest = std::max(highest, faster * (by_memory ? roof.gbytes_per_s : roof.gflops));
      }
      if (by_memory) highest /= 1 - cached_bytes / bytes;
      const double rate = by_memory ? one.gbytes_per_s : one.gflops;
      if (highest > 0 && rate > kRoofMargin * highest) above.push_back({one.point, rate, highest, by_memory, roofs});
    }
  }
  return above;
}

}  // namespace rung
