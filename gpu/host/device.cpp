/// The GPU as a target of the harness, through the CUDA runtime.
#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "common/machine/device_facts.hpp"
#include "common/machine/target.hpp"
#include "gpu/host/call_facts.hpp"
#include "gpu/host/clock_gauge.hpp"
#include "gpu/host/cuda_error.hpp"
#include "gpu/host/host_buffers.hpp"
#include "gpu/host/launch.hpp"
#include "gpu/host/memory_scan.hpp"
#include "gpu/host/nvml.hpp"
#include "gpu/host/point_marker.hpp"
#include "gpu/host/power_meter.hpp"
#include "gpu/host/staged_copy.hpp"
#include "gpu/host/stopwatch.hpp"
#include "gpu/host/timeline.hpp"
#include "gpu/simt/cublas.hpp"

namespace rung {
namespace {

constexpr double kEventResolution = 0.5e-6;    // seconds, of CUDA's events
constexpr std::int64_t kQueuedRuns = 32;       // runs timed one by one that are queued before the host waits
constexpr double kLongRun = 0.01;              // seconds; warm caches no longer matter: they are filled within 0.1 ms
constexpr std::size_t kDirectBytes = 1 << 20;  // copied at once: fast with or without staging
constexpr int kSm90a = 90;                     // of kernels compiled for sm_90a (TMA, wgmma), which no other GPU runs
constexpr double kEnergySeconds = 0.6;         // six steps of an H200's energy counter

int attribute(int device, cudaDeviceAttr which) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, which, device), "reading a property of the GPU");
  return value;
}

class Gpu : public Target {
 public:
  explicit Gpu(int device) : device_(device), nvml_(pci_bus_id(device)) {
    check_cuda(cudaGetDeviceProperties(&properties_, device), "reading the GPU's properties");
    check_cuda(find_marker(built_for_), "reading for which GPU this program was built");
    flush_bytes_ = static_cast<std::size_t>(properties_.l2CacheSize);
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "creating a stream");
    check_cuda(cudaMalloc(&flush_, std::max<std::size_t>(flush_bytes_, 1)), "allocating the L2 flush buffer");
    clock_.emplace(properties_.multiProcessorCount);
  }
  ~Gpu() override {
    cudaFree(flush_);
    cudaStreamDestroy(stream_);
  }

  std::size_t free_bytes() const override { return memory().first; }

  void* allocate(std::size_t bytes) override {
    void* memory = nullptr;
    const cudaError_t error = cudaMalloc(&memory, std::max<std::size_t>(bytes, 1));
    if (error == cudaErrorMemoryAllocation) {
      cudaGetLastError();
      throw Error(fmt::format("out of GPU memory: {:.1f} MB requested, {:.1f} MB free", bytes / 1e6,
                              static_cast<double>(free_bytes()) / 1e6));
    }
    check_cuda(error, "allocating GPU memory");
    return memory;
  }

  void release(void* memory) noexcept override { cudaFree(memory); }

  void* allocate_guarded(const Operand& operand) override {
    if (operand.place == Place::device) return Target::allocate_guarded(operand);
    return host_buffers_.allocate(operand.bytes() + 2 * kGuardBytes, operand.place == Place::pinned) + kGuardBytes;
  }
  void release_guarded(void* buffer) noexcept override {
    if (host_buffers_.holds(buffer))
      host_buffers_.release(static_cast<std::byte*>(buffer) - kGuardBytes);
    else
      Target::release_guarded(buffer);
  }

  void upload(void* to, const void* host, std::size_t bytes) override {
    if (host_buffers_.holds(to)) return HostBuffers::copy(to, host, bytes);
    if (StagedCopy* staged = staged_copy(bytes)) return staged->upload(to, host, bytes, stream_);
    check_cuda(cudaMemcpyAsync(to, host, bytes, cudaMemcpyHostToDevice, stream_), "copying to the GPU");
    wait();
  }

  void download(void* host, const void* from, std::size_t bytes) override {
    if (host_buffers_.holds(from)) return HostBuffers::copy(host, from, bytes);
    if (StagedCopy* staged = staged_copy(bytes))
      return staged->download(from, bytes, stream_, [&](std::size_t begin, const void* part, std::size_t count) {
        std::memcpy(static_cast<std::byte*>(host) + begin, part, count);
      });
    check_cuda(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDeviceToHost, stream_), "copying from the GPU");
    wait();
  }

  bool holds(const void* memory, const void* host, std::size_t bytes) override {
    if (host_buffers_.holds(memory)) return HostBuffers::are_equal(memory, host, bytes);
    StagedCopy* const staged = staged_copy(bytes);
    if (!staged) return Target::holds(memory, host, bytes);
    std::atomic<bool> same = true;
    staged->download(memory, bytes, stream_, [&](std::size_t begin, const void* part, std::size_t count) {
      if (std::memcmp(static_cast<const std::byte*>(host) + begin, part, count) != 0) same = false;
    });
    return same;
  }

  bool is_filled(const void* memory, std::size_t bytes, unsigned char byte) override {
    if (host_buffers_.holds(memory)) return HostBuffers::is_filled(memory, byte, bytes);
    return scan_.is_filled(memory, bytes, byte, stream_);
  }

  std::optional<std::uint64_t> fingerprint(const void* memory, std::size_t bytes) override {
    if (bytes <= kDirectBytes || host_buffers_.holds(memory)) return std::nullopt;
    return scan_.fingerprint(memory, bytes, stream_);
  }

  void poison(void* buffer, std::size_t bytes, unsigned char byte) override {
    if (host_buffers_.holds(buffer)) return HostBuffers::fill(buffer, byte, bytes);
    check_cuda(cudaMemsetAsync(buffer, byte, bytes, stream_), "filling GPU memory");
    wait();
  }

  std::string refuse(const Kernel& kernel, const Call& call) const override;

  void run(const Kernel& kernel, const Call& call) override {
    const Call queued = on_stream(call);
    if (kernel.reset) kernel.reset(queued);
    std::optional<Watched> watched;
    if (is_profiled_) watched.emplace();
    kernel.run(queued);
    wait();
  }

  double time(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode) override {
    const Call queued = on_stream(call);
    energy_j_.reset();
    clock_->reset();
    return mode == Mode::hot && !kernel.reset ? time_batch(kernel, queued, runs)
                                              : time_each(kernel, queued, runs, mode);
  }

  /// The clock stays high from one kernel to the next, and time() makes one extra run before each interval for the
  /// caches.
  double warm_up_seconds() const override { return 0.001; }
  double resolved_seconds() const override { return 1000 * kEventResolution; }

  std::optional<Resources> resources(const Kernel& kernel, const Call& call) override {
    const LaunchLog log;
    run(kernel, call);
    return log.resources_of(call.launch);
  }

  std::optional<double> transfer_seconds(std::size_t bytes_in, std::size_t bytes_out) override;

  std::vector<Span> timeline(const Kernel& kernel, const Call& call) override {
    Timeline timeline(stream_);
    run(kernel, call);
    return timeline.spans();
  }

  void mark_point() override {
    is_profiled_ = true;
    rung::mark_point(stream_);
  }

  /// The driver adds records a few times per second at most: in between, returns the latest value.
  Disturbance disturbance() override {
    const auto now = std::chrono::steady_clock::now();
    if (now - asked_ > std::chrono::milliseconds(200)) {
      others_ = nvml_.others_share(static_cast<unsigned>(getpid()));
      asked_ = now;
    }
    Disturbance found;
    found.device_others = others_;
    return found;
  }
  DeviceState state() override { return {.clock_mhz = clock_->mhz(), .throttled = nvml_.throttled()}; }

  std::optional<double> energy_j() const override { return energy_j_; }
  double energy_seconds() const override {
    return nvml_.joules() ? kEnergySeconds : std::numeric_limits<double>::infinity();
  }

  nlohmann::json context() const override;

 private:
  static std::string pci_bus_id(int device) {
    char text[32] = {};
    check_cuda(cudaDeviceGetPCIBusId(text, sizeof text, device), "reading the GPU's bus id");
    return text;
  }

  std::pair<std::size_t, std::size_t> memory() const {
    std::size_t free = 0, total = 0;
    check_cuda(cudaMemGetInfo(&free, &total), "reading the size of the GPU's memory");
    return {free, total};
  }

  Call on_stream(const Call& call) const {
    Call queued = call;
    queued.stream = stream_;
    return queued;
  }

  /// For copies that are large enough; null otherwise, and where pinned memory is short or forbidden.
  StagedCopy* staged_copy(std::size_t bytes) {
    if (bytes <= kDirectBytes || !can_stage_) return nullptr;
    try {
      if (!staged_) staged_ = std::make_unique<StagedCopy>();
    } catch (const DeviceLost&) {
      throw;
    } catch (const Error&) {
      can_stage_ = false;
    }
    return staged_.get();
  }

  void wait() { check_cuda(cudaStreamSynchronize(stream_), "waiting for the GPU"); }

  double time_batch(const Kernel& kernel, const Call& call, std::int64_t runs);
  double time_each(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode);

  int device_;
  bool is_profiled_ = false;
  Nvml nvml_;
  std::optional<double> others_;  ///< share of the GPU's time that other processes used
  std::chrono::steady_clock::time_point asked_;
  cudaDeviceProp properties_{};
  int built_for_ = 0;  ///< 90 for compute capability 9.0: older than the GPU where the driver compiled PTX for it
  cudaStream_t stream_ = nullptr;
  void* flush_ = nullptr;
  std::size_t flush_bytes_ = 0;
  std::array<Stopwatch, kQueuedRuns> watches_;
  std::map<std::string, double> hot_seconds_;  // of one run, by kernel and parameters
  std::optional<double> energy_j_;             // of the last timed interval
  std::optional<ClockGauge> clock_;            // over the last timed interval
  HostBuffers host_buffers_;
  MemoryScan scan_;
  std::unique_ptr<Bus> bus_;
  std::map<std::pair<std::size_t, std::size_t>, double> transfers_;  // seconds, by the bytes in and out
  std::unique_ptr<StagedCopy> staged_;
  bool can_stage_ = true;
};

std::string Gpu::refuse(const Kernel& kernel, const Call& call) const {
  const int capability = 10 * properties_.major + properties_.minor;
  if (capability < kernel.gpu.min_compute_capability)
    return fmt::format("needs compute capability {}.{}; this GPU has {}.{}", kernel.gpu.min_compute_capability / 10,
                       kernel.gpu.min_compute_capability % 10, properties_.major, properties_.minor);
  if (!kernel.is_library && built_for_ < kernel.gpu.min_compute_capability)
    return fmt::format("needs code for compute capability {}.{}; this program was built for {}.{}",
                       kernel.gpu.min_compute_capability / 10, kernel.gpu.min_compute_capability % 10, built_for_ / 10,
                       built_for_ % 10);
  if (kernel.gpu.min_compute_capability == kSm90a && capability != kSm90a)
    return fmt::format("has instructions that only compute capability 9.0 has (sm_90a); this GPU has {}.{}",
                       properties_.major, properties_.minor);
  if (!kernel.run) return "not in this build: it needs nvcc 12.5 or newer and the architecture sm_90a";
  if (!kernel.gpu.launch) return "";
  const auto& [grid, block, shared] = call.launch;
  const auto outside = [](const Extent& extent, const int* most) {
    const unsigned sizes[] = {extent.x, extent.y, extent.z};
    for (int i = 0; i < 3; ++i)
      if (sizes[i] < 1 || sizes[i] > static_cast<unsigned>(most[i])) return true;
    return false;
  };
  const auto shape = [](const char* what, const Extent& extent, const int* most) {
    return fmt::format("a {} of {} x {} x {}; this GPU takes at most {} x {} x {}", what, extent.x, extent.y, extent.z,
                       most[0], most[1], most[2]);
  };
  if (block.count() > static_cast<std::size_t>(properties_.maxThreadsPerBlock))
    return fmt::format("a block of {} threads; this GPU takes at most {}", block.count(),
                       properties_.maxThreadsPerBlock);
  if (outside(block, properties_.maxThreadsDim)) return shape("block", block, properties_.maxThreadsDim);
  if (outside(grid, properties_.maxGridSize)) return shape("grid", grid, properties_.maxGridSize);
  if (shared > properties_.sharedMemPerBlockOptin)
    return fmt::format("{} bytes of shared memory in a block; this GPU has at most {}", shared,
                       properties_.sharedMemPerBlockOptin);
  return "";
}

double Gpu::time_batch(const Kernel& kernel, const Call& call, std::int64_t runs) {
  const std::string point = kernel.name + "/" + call.params.text();
  double& known = hot_seconds_[point];
  std::optional<PowerMeter> meter;
  if (known * static_cast<double>(runs) >= kEnergySeconds && nvml_.joules())
    meter.emplace([&] { return nvml_.joules(); });
  if (known < kLongRun) kernel.run(call);  // untimed: the first timed run then finds the same caches as the others
  Stopwatch& watch = watches_[0];
  clock_->start(stream_);
  watch.start(stream_);
  for (std::int64_t i = 0; i < runs; ++i) kernel.run(call);
  watch.stop(stream_);
  clock_->stop(stream_);
  const double seconds = watch.seconds();
  const std::optional<double> watts = meter ? meter->watts() : std::nullopt;
  if (watts && seconds >= kEnergySeconds) energy_j_ = *watts * seconds;
  known = seconds / static_cast<double>(std::max<std::int64_t>(runs, 1));
  clock_->add(stream_);
  return seconds;
}

/// Times each run between two events: a flush of the cache or the kernel's reset before it is not timed. A memset of
/// exactly the size of L2 evicts all data of the previous run. It also keeps the GPU busy while the host queues the
/// events and the launch, so that no waiting for the host is timed.
double Gpu::time_each(const Kernel& kernel, const Call& call, std::int64_t runs, Mode mode) {
  double seconds = 0;
  for (std::int64_t done = 0; done < runs; done += kQueuedRuns) {
    const auto batch = static_cast<std::size_t>(std::min(runs - done, kQueuedRuns));
    clock_->start(stream_);
    for (std::size_t i = 0; i < batch; ++i) {
      if (kernel.reset) kernel.reset(call);
      if (mode == Mode::cold) check_cuda(cudaMemsetAsync(flush_, 0, flush_bytes_, stream_), "flushing L2");
      watches_[i].start(stream_);
      kernel.run(call);
      watches_[i].stop(stream_);
    }
    clock_->stop(stream_);
    for (std::size_t i = 0; i < batch; ++i) seconds += watches_[i].seconds();
    clock_->add(stream_);
  }
  return seconds;
}

std::optional<double> Gpu::transfer_seconds(std::size_t bytes_in, std::size_t bytes_out) {
  if (const auto known = transfers_.find({bytes_in, bytes_out}); known != transfers_.end()) return known->second;
  try {
    if (!bus_) bus_ = std::make_unique<Bus>();
  } catch (const DeviceLost&) {
    throw;
  } catch (const Error&) {  // pinned memory may be short or forbidden; the kernel's time is still reported
    return std::nullopt;
  }
  std::array<double, 3> samples{};
  for (double& sample : samples) {
    watches_[0].start(stream_);
    bus_->copy(bytes_in, cudaMemcpyHostToDevice, stream_);
    bus_->copy(bytes_out, cudaMemcpyDeviceToHost, stream_);
    watches_[0].stop(stream_);
    sample = watches_[0].seconds();
  }
  std::sort(samples.begin(), samples.end());
  return transfers_[{bytes_in, bytes_out}] = samples[1];
}

/// CUDA's 13000 is "13.0".
std::string cuda_version(int number) { return fmt::format("{}.{}", number / 1000, number % 1000 / 10); }

/// As nvidia-smi prints it: GPU-8 hex digits-4-4-4-12.
std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

nlohmann::json Gpu::context() const {
  int driver = 0, runtime = 0;
  check_cuda(cudaDriverGetVersion(&driver), "reading the driver's version");
  check_cuda(cudaRuntimeGetVersion(&runtime), "reading the runtime's version");
  nlohmann::json context{
      {"gpu_name", properties_.name},
      {"gpu_sm_count", properties_.multiProcessorCount},
      {"gpu_clock_khz", attribute(device_, cudaDevAttrClockRate)},
      {"gpu_mem_clock_khz", attribute(device_, cudaDevAttrMemoryClockRate)},
      {"gpu_mem_bus_width_bits", attribute(device_, cudaDevAttrGlobalMemoryBusWidth)},
      {"gpu_l2_bytes", properties_.l2CacheSize},
      {"gpu_compute_capability_major", properties_.major},
      {"gpu_compute_capability_minor", properties_.minor},
      {"gpu_memory_bytes", memory().second},
      {"gpu_shared_bytes_per_sm", properties_.sharedMemPerMultiprocessor},
      {"gpu_shared_bytes_per_block", properties_.sharedMemPerBlock},
      {"gpu_shared_bytes_per_block_optin", properties_.sharedMemPerBlockOptin},
      {"gpu_threads_per_sm", properties_.maxThreadsPerMultiProcessor},
      {"gpu_threads_per_block", properties_.maxThreadsPerBlock},
      {"gpu_block_x", properties_.maxThreadsDim[0]},
      {"gpu_block_y", properties_.maxThreadsDim[1]},
      {"gpu_block_z", properties_.maxThreadsDim[2]},
      {"gpu_grid_x", properties_.maxGridSize[0]},
      {"gpu_grid_y", properties_.maxGridSize[1]},
      {"gpu_grid_z", properties_.maxGridSize[2]},
      {"gpu_warp_size", properties_.warpSize},
      {"gpu_constant_bytes", properties_.totalConstMem},
      {"gpu_kernel_timeout", attribute(device_, cudaDevAttrKernelExecTimeout) != 0},
      {"gpu_uuid", uuid_text(properties_.uuid)},
      {"gpu_driver", nvml_.driver_version()},
      {"gpu_cuda_driver", cuda_version(driver)},
      {"gpu_cuda_runtime", cuda_version(runtime)},
      {"gpu_cublas_version", cublas_version()},
      {"gpu_ecc", properties_.ECCEnabled != 0},
      {"gpu_copy_engines", attribute(device_, cudaDevAttrAsyncEngineCount)},
      {"sm_clock_source", "over the sample"},
      nvml_.joules() ? std::pair{"gpu_energy_source", "NVML, the board's total energy"}
                     : std::pair{"gpu_energy_unavailable", "the driver reports no energy for this GPU"},
  };
  if (const std::optional<double> limit = nvml_.power_limit_w()) context["gpu_power_limit_w"] = *limit;
  const CallFacts facts = call_facts();
  context["gpu_launch_s"] = facts.launch_seconds;
  context["gpu_launched_kernel_s"] = facts.launched_seconds;
  context["gpu_event_step_s"] = facts.event_step_seconds;
  context["gpu_keeps_variables"] = facts.keeps_variables;
  context["gpu_resets_last_error"] = facts.resets_error;
  if (const std::optional<PcieLink> link = nvml_.pcie_link()) {
    context["gpu_pcie_generation"] = link->generation;
    context["gpu_pcie_lanes"] = link->lanes;
    if (const double rate = pcie_gbytes_per_s(*link); rate > 0) context["gpu_pcie_gbytes_per_s"] = rate;
  }
  return context;
}

/// Why CUDA does not start here, and what to do about it.
std::string why_not(cudaError_t error) {
  cudaGetLastError();
  int driver = 0;
  if (cudaDriverGetVersion(&driver) != cudaSuccess) driver = 0;
  if (driver == 0) return "no NVIDIA driver: libcuda.so.1 was not found";
  if (error == cudaErrorInsufficientDriver || driver < CUDART_VERSION / 1000 * 1000)
    return fmt::format(
        "the driver supports CUDA {}, this program was built with {}: update the driver or build with an older toolkit",
        cuda_version(driver), cuda_version(CUDART_VERSION));
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (error == cudaErrorNoDevice && visible) return fmt::format("CUDA_VISIBLE_DEVICES=\"{}\" hides every GPU", visible);
  if (error == cudaErrorNoDevice) return "no CUDA device";
  return "CUDA does not start: " + cuda_words(error);
}

/// Why no kernel of this program runs on this GPU; empty if they do. Checked with a kernel that is compiled for every
/// architecture.
std::string no_code_for(int device) {
  int architecture = 0;
  const cudaError_t error = find_marker(architecture);
  if (error == cudaSuccess) return "";
  cudaGetLastError();
  const int major = attribute(device, cudaDevAttrComputeCapabilityMajor),
            minor = attribute(device, cudaDevAttrComputeCapabilityMinor);
  return fmt::format(
      "this program was not built for the GPU, of compute capability {}.{} ({}): build it here, or with "
      "-DCMAKE_CUDA_ARCHITECTURES={}{}",
      major, minor, cuda_words(error), major, minor);
}

}  // namespace

GpuTarget open_gpu(int device) {
  int count = 0;
  if (const cudaError_t error = cudaGetDeviceCount(&count); error != cudaSuccess) return {nullptr, why_not(error)};
  if (count == 0) return {nullptr, why_not(cudaErrorNoDevice)};
  if (device < 0 || device >= count)
    return {nullptr, fmt::format("there is no GPU {}: {} visible, counted from 0", device, count)};
  cudaError_t error = cudaSetDevice(device);
  if (error == cudaSuccess) error = cudaFree(nullptr);  // creates the context, also where cudaSetDevice does not
  if (error != cudaSuccess) return {nullptr, "the GPU does not start: " + cuda_words(error)};
  if (const std::string reason = no_code_for(device); !reason.empty()) return {nullptr, reason};
  try {
    return {std::make_unique<Gpu>(device), ""};
  } catch (const Error& failure) {
    return {nullptr, failure.what()};
  }
}

std::optional<DeviceFacts> present_gpu_facts() {
  int count = 0, device = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0 || cudaGetDevice(&device) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  static std::map<int, DeviceFacts> known;
  if (const auto found = known.find(device); found != known.end()) return found->second;
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "reading the GPU's properties");
  return known[device] = DeviceFacts{
             .sm_count = properties.multiProcessorCount,
             .l2_bytes = properties.l2CacheSize,
             .memory_bytes = static_cast<std::int64_t>(properties.totalGlobalMem),
             .shared_bytes_per_block =
                 std::min(properties.sharedMemPerBlockOptin,
                          properties.sharedMemPerMultiprocessor - properties.reservedSharedMemPerBlock),
             .threads_per_block = std::min(properties.maxThreadsPerBlock, properties.maxThreadsPerMultiProcessor)};
}

}  // namespace rung
