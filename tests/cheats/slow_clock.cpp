/// For LD_PRELOAD: a clock that runs at half its speed.
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern "C" int clock_gettime(clockid_t clock, timespec* now) noexcept {
  const long failed = syscall(SYS_clock_gettime, clock, now);
  if (failed == 0 && clock == CLOCK_MONOTONIC) {
    const long long all = (now->tv_sec * 1000000000LL + now->tv_nsec) / 2;
    *now = {all / 1000000000LL, all % 1000000000LL};
  }
  return static_cast<int>(failed);
}
