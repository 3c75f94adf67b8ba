#include "common/machine/process_settings.hpp"

#include <omp.h>
#include <sys/prctl.h>

#include <algorithm>

namespace rung {
namespace {

bool are_equal(const rlimit& one, const rlimit& other) {
  return one.rlim_cur == other.rlim_cur && one.rlim_max == other.rlim_max;
}

}  // namespace

ProcessSettings ProcessSettings::now() {
  ProcessSettings settings;
  for (int i = 0; i < RLIM_NLIMITS; ++i) getrlimit(static_cast<__rlimit_resource>(i), &settings.limits_[i]);
  settings.levels_ = omp_get_max_active_levels();
  settings.dynamic_ = omp_get_dynamic();
  omp_sched_t schedule{};
  omp_get_schedule(&schedule, &settings.chunk_);
  settings.schedule_ = static_cast<int>(schedule);
  settings.device_ = omp_get_default_device();
  settings.no_huge_pages_ = prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0);
  settings.signals_ = Signals::now();
  return settings;
}

bool ProcessSettings::restore() const {
  const ProcessSettings other = now();
  if (other.levels_ != levels_) omp_set_max_active_levels(levels_);
  if (other.dynamic_ != dynamic_) omp_set_dynamic(dynamic_);
  if (other.schedule_ != schedule_ || other.chunk_ != chunk_)
    omp_set_schedule(static_cast<omp_sched_t>(schedule_), chunk_);
  if (other.device_ != device_) omp_set_default_device(device_);
  if (other.no_huge_pages_ != no_huge_pages_ && no_huge_pages_ >= 0) prctl(PR_SET_THP_DISABLE, no_huge_pages_, 0, 0, 0);
  signals_.restore();
  return restore_limits();
}

/// Where a limit cannot be as it was, the soft one becomes as high as it may.
bool ProcessSettings::restore_limits() const {
  bool all = true;
  for (int i = 0; i < RLIM_NLIMITS; ++i) {
    const auto which = static_cast<__rlimit_resource>(i);
    const rlimit& was = limits_[i];
    rlimit is{};
    if (getrlimit(which, &is) != 0 || are_equal(is, was) || setrlimit(which, &was) == 0) continue;
    all = false;
    is.rlim_cur = std::min(was.rlim_cur, is.rlim_max);
    setrlimit(which, &is);
  }
  return all;
}

}  // namespace rung
