/// What the harness needs of a machine that kernels run on. Three exist: the host's cores, the GPU, the emulator.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/machine/disturbance.hpp"
#include "common/registry.hpp"

namespace rung {

/// hot: back to back, the caches as the previous run left them. cold: the last-level cache is flushed before each run.
enum class Mode { hot, cold };

/// The device during the last measurement: a GPU's mean clock over the timed interval, a processor's right after it;
/// absent where it is not known.
struct DeviceState {
  std::optional<double> clock_mhz;
  std::string throttled;  ///< reasons right after it, e.g. "power cap"; empty if none
};

/// Processor time of all threads of this process.
struct ProcessorTime {
  double of_interval = 0;  ///< as a multiple of the interval: processors that were used, on average
  double of_caller = 0;    ///< over the calling thread's time: 1 if no other thread helped
};

/// The device cannot continue in this process (an illegal address, a launch that timed out).
struct DeviceLost : Error {
  using Error::Error;
};

/// The device cannot launch this kernel in this shape, since not even one block fits, or a library has no kernel for
/// the call. The point is skipped.
struct LaunchRefused : Error {
  using Error::Error;
};

/// One copy or launch of a call: what it is ("copy in", "kernel", "copy out"), the stream that it was queued on,
/// counted from 0, and when it began and ended, in seconds from the beginning of the call.
struct Span {
  std::string what;
  int stream = 0;
  double begin = 0, end = 0;
};

/// On both sides of each buffer of a kernel.
constexpr std::size_t kGuardBytes = 1024;

class Target {
 public:
  virtual ~Target() = default;

  /// Bytes that can be allocated now.
  virtual std::size_t free_bytes() const = 0;
  /// 256-byte aligned memory of the target; throws Error when there is none left.
  virtual void* allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  /// Returns memory to the system that was released and is kept for the next allocation; free_bytes() does not count
  /// it.
  virtual void release_kept() {}
  virtual void upload(void* to, const void* host, std::size_t bytes) = 0;
  virtual void download(void* host, const void* from, std::size_t bytes) = 0;
  /// Whether the host can read the target's memory where it is.
  virtual bool is_host_memory() const { return false; }

  /// Whether the target's memory has the same bytes as the host's.
  virtual bool holds(const void* memory, const void* host, std::size_t bytes) {
    constexpr std::size_t kChunk = std::size_t{16} << 20;
    const auto chunk = std::make_unique_for_overwrite<std::byte[]>(std::min(bytes, kChunk));
    for (std::size_t done = 0; done < bytes; done += kChunk) {
      const std::size_t count = std::min(bytes - done, kChunk);
      download(chunk.get(), static_cast<const std::byte*>(memory) + done, count);
      if (std::memcmp(chunk.get(), static_cast<const std::byte*>(host) + done, count) != 0) return false;
    }
    return true;
  }

  /// Whether each of the bytes is `byte`.
  virtual bool is_filled(const void* memory, std::size_t bytes, unsigned char byte) {
    constexpr std::size_t kChunk = std::size_t{1} << 20;
    const std::vector<unsigned char> same(std::min(bytes, kChunk), byte);
    for (std::size_t done = 0; done < bytes; done += kChunk)
      if (!holds(static_cast<const std::byte*>(memory) + done, same.data(), std::min(bytes - done, kChunk)))
        return false;
    return true;
  }
  /// A number that changes with any byte of the memory, where the target finds it sooner than holds() answers.
  virtual std::optional<std::uint64_t> fingerprint(const void* /*memory*/, std::size_t /*bytes*/) {
    return std::nullopt;
  }

  /// A buffer for an operand between two guard bands of kGuardBytes, which may be uploaded to and downloaded.
  virtual void* allocate_guarded(const Operand& operand) {
    return static_cast<std::byte*>(allocate(operand.bytes() + 2 * kGuardBytes)) + kGuardBytes;
  }
  virtual void release_guarded(void* buffer) noexcept { release(static_cast<std::byte*>(buffer) - kGuardBytes); }
  /// Fills a buffer with a byte that stands for "nothing was written here".
  virtual void poison(void* buffer, std::size_t bytes, unsigned char byte) {
    constexpr std::size_t kChunk = std::size_t{16} << 20;
    const std::vector<unsigned char> chunk(std::min(bytes, kChunk), byte);
    for (std::size_t done = 0; done < bytes; done += kChunk)
      upload(static_cast<std::byte*>(buffer) + done, chunk.data(), std::min(bytes - done, kChunk));
  }

  /// Why this kernel cannot run here (compute capability, launch limits); empty if it can.
  virtual std::string refuse(const Kernel& kernel, const Call& call) const = 0;
  /// Waits, a quarter of a second at most, until no thread that another kernel left behind takes time from the next
  /// one: idle threads of OpenMP and of the libraries look for work for some more milliseconds, on the same cores.
  /// Threads of `own` may continue: the next kernel itself keeps them busy.
  virtual void settle(const std::set<int>& /*own*/ = {}) {}
  /// How long a kernel runs after others have run, before it is timed: on the host until threads that slept are awake
  /// and the clock is up again.
  virtual double warm_up_seconds() const { return 0.005; }
  /// Threads of this process, except the caller, that are on a core now or wait for one.
  virtual std::set<int> busy_threads() const { return {}; }
  /// Ends threads that look for work, where possible; the next kernel makes new ones.
  virtual void end_idle_threads() {}
  /// Runs the kernel once and waits for its end. Throws Error, or DeviceLost when nothing more can run.
  virtual void run(const Kernel& kernel, const Call& call) = 0;
  /// Seconds that `runs` runs took together, timed as one interval; with Mode::cold each run is timed alone.
  virtual double time(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode) = 0;
  /// What else the machine did during the last time(); the counters are read outside of the timed interval.
  virtual Disturbance disturbance() { return {}; }
  /// From now on time() calls `prepare` before each run, and times the runs alone; an empty one ends that. Returns
  /// whether it does: nothing is called where runs that follow each other are not timed one by one.
  virtual bool prepare_runs(std::function<void()> /*prepare*/) { return false; }
  /// Processor time of this process during the last time(); nothing where that is not known, or it was too short.
  virtual std::optional<ProcessorTime> processor_time() const { return std::nullopt; }
  /// Restores what a kernel may have set in the process, such as limits and OpenMP's settings.
  virtual void restore_process() {}
  /// All threads of this process, except the caller.
  virtual std::set<int> threads() const { return {}; }
  /// Threads of this process that run although no kernel does, for half a second or more.
  virtual std::set<int> restless_threads() { return {}; }
  /// The shortest interval that the clock resolves to a per mille, in seconds.
  virtual double resolved_seconds() const = 0;

  /// Registers, shared memory and resident blocks of a GPU kernel; nothing elsewhere.
  virtual std::optional<Resources> resources(const Kernel&, const Call&) { return std::nullopt; }
  /// Seconds to copy the kernel's inputs in and its outputs out through pinned memory; nothing where none are copied.
  virtual std::optional<double> transfer_seconds(std::size_t /*bytes_in*/, std::size_t /*bytes_out*/) {
    return std::nullopt;
  }
  /// Runs the kernel once more and returns when each of its copies and launches ran; nothing where that is not
  /// recorded.
  virtual std::vector<Span> timeline(const Kernel&, const Call&) { return {}; }
  /// Reports to a profiler that the runs from now on are another point's. It watches only these runs, and no launches
  /// that prepare or check them.
  virtual void mark_point() {}
  virtual DeviceState state() { return {}; }
  /// Joules that the last time() took by the machine's own counters; nothing where these cannot be read, for cold runs,
  /// and if the interval was shorter than energy_seconds().
  virtual std::optional<double> energy_j() const { return std::nullopt; }
  /// The shortest interval whose energy is reported; infinite where none is.
  virtual double energy_seconds() const { return std::numeric_limits<double>::infinity(); }
  /// The processor's counters for one run, as the mean of `runs` untimed ones, by the key of the result
  /// ("bytes_dram_measured"); empty where nothing is counted.
  virtual std::map<std::string, double> events(const Kernel&, const Call&, std::int64_t /*runs*/) { return {}; }
  /// The keys that this target adds to a result's context (gpu_name …, cpu_name …).
  virtual nlohmann::json context() const = 0;
};

/// The cores of this machine; all that the process may use.
std::unique_ptr<Target> open_host();

/// The GPU, or why there is none: "built without CUDA: …", "no CUDA device", "driver 12.4 is older …".
struct GpuTarget {
  std::unique_ptr<Target> target;
  std::string unavailable;
};
GpuTarget open_gpu(int device);

/// Runs the .emulate of GPU kernels on the host, counting; see common/emulator/emulator.hpp.
std::unique_ptr<Target> open_emulator();

}  // namespace rung
