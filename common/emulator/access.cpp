/// The slow path of an access, and the compiler's callbacks. Both detect faults of the running thread.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <utility>

#include "common/emulator/block.hpp"
#include "common/emulator/device_heap.hpp"
#include "common/emulator/findings.hpp"
#include "common/emulator/symbols.hpp"

// The bounds of the section of __constant__ variables; null if no kernel has any.
extern "C" {
extern const char __start_rung_constant[] __attribute__((weak));
extern const char __stop_rung_constant[] __attribute__((weak));
}

namespace rung {

AddressRange constant_memory() {
  const auto begin = reinterpret_cast<std::uintptr_t>(__start_rung_constant);
  return {begin, reinterpret_cast<std::uintptr_t>(__stop_rung_constant) - begin};
}

namespace {

/// What kernels have allocated. Threads run one after another here and side by side on a GPU, so what one has freed is
/// not given to the next at once: the kQuarantine bytes that were freed last stay unused.
class DeviceHeap {
 public:
  DeviceHeap() = default;
  DeviceHeap(const DeviceHeap&) = delete;
  ~DeviceHeap() {
    for (const auto& [address, bytes] : blocks_) std::free(reinterpret_cast<void*>(address));
    for (const auto& [memory, bytes] : freed_) std::free(memory);
  }

  bool holds(std::uintptr_t address) {
    const std::shared_lock lock(mutex_);
    const auto after = blocks_.upper_bound(address);
    return after != blocks_.begin() && address - std::prev(after)->first < std::prev(after)->second;
  }

  void* allocate(std::size_t bytes) {
    void* const memory = std::malloc(bytes);
    const std::scoped_lock lock(mutex_);
    if (memory) blocks_[reinterpret_cast<std::uintptr_t>(memory)] = bytes;
    return memory;
  }

  /// False if it is no memory of the heap.
  bool release(void* memory) {
    const std::scoped_lock lock(mutex_);
    const auto found = blocks_.find(reinterpret_cast<std::uintptr_t>(memory));
    if (found == blocks_.end()) return false;
    freed_.emplace_back(memory, found->second);
    freed_bytes_ += found->second;
    blocks_.erase(found);
    for (; freed_bytes_ > kQuarantine; freed_.pop_front()) {
      freed_bytes_ -= freed_.front().second;
      std::free(freed_.front().first);
    }
    return true;
  }

 private:
  static constexpr std::size_t kQuarantine = std::size_t{16} << 20;

  std::shared_mutex mutex_;  // blocks run on several OS threads
  std::map<std::uintptr_t, std::size_t> blocks_;
  std::deque<std::pair<void*, std::size_t>> freed_;
  std::size_t freed_bytes_ = 0;
};

DeviceHeap& device_heap() {
  static DeviceHeap heap;
  return heap;
}

}  // namespace

bool is_on_device_heap(std::uintptr_t address) { return device_heap().holds(address); }

namespace {

/// Whether a buffer of the launch holds the address. If so, it moves to the front of trace.buffers.
bool find_buffer(std::uintptr_t last) {
  for (const Allocation& buffer : BlockRunner::of_this_thread().launch().buffers)
    if (buffer.holds(last)) {
      std::copy_backward(trace.buffers, trace.buffers + Trace::kBuffers - 1, trace.buffers + Trace::kBuffers);
      trace.buffers[0] = {buffer.begin, buffer.bytes};
      return true;
    }
  return false;
}

/// Whether a static __shared__ array holds the address; assumed if there are no symbols.
bool in_a_shared_array(std::uintptr_t address) {
  static thread_local AddressRange recent[8];
  for (const AddressRange& array : recent)
    if (array.holds(address)) return true;
  const void* kernel = BlockRunner::of_this_thread().launch().kernel;
  const SharedArray array = shared_array_at(address, trace.static_shared.begin, kernel);
  if (is_shared_gap(array.name)) return false;
  std::copy_backward(recent, std::end(recent) - 1, std::end(recent));
  recent[0] = {address - array.offset, std::max<std::uintptr_t>(array.bytes, 1)};
  return true;
}

/// The AccessKind bit of the memory space of the address. Throws Fault if it is in none, or if it is misaligned.
std::uint64_t space_of(std::uintptr_t address, std::uint64_t kind, std::uintptr_t site) {
  const std::uintptr_t bytes = std::uintptr_t{1} << (kind & AccessKind::kSizeMask);
  const std::uintptr_t last = address | (bytes - 1);
  const FaultyAccess access{address, static_cast<unsigned>(bytes), (kind & AccessKind::kStore) != 0, site};
  if (trace.bad_subscript) throw Fault(bad_subscript(access, trace.bad_subscript, trace.bad_index));
  if (address % bytes != 0) throw Fault(misaligned(access));
  if (trace.dynamic_shared.holds(last)) return AccessKind::kShared;
  if (trace.static_shared.holds(last)) {
    if (trace.hazards && !in_a_shared_array(address)) throw Fault(out_of_bounds(access));
    return AccessKind::kShared;
  }
  for (const AddressRange& buffer : trace.buffers)
    if (buffer.holds(last)) return 0;
  if (find_buffer(last) || is_on_device_heap(last)) return 0;
  if (constant_memory().holds(last)) return AccessKind::kConstant;
  throw Fault(out_of_bounds(access));
}

/// The address in the hazard checks.
std::uintptr_t canonical(std::uintptr_t address, std::uint64_t kind) {
  if (!(kind & AccessKind::kShared)) return address;
  if (trace.static_shared.holds(address)) return address - trace.static_shared.begin + kStaticShared;
  return address - trace.dynamic_shared.begin + kDynamicShared;
}

std::unordered_map<std::uintptr_t, OperationSite>& operation_sites() {
  static thread_local std::unordered_map<std::uintptr_t, OperationSite> sites;
  return sites;
}

}  // namespace

std::vector<OperationSite> take_operation_sites() {
  std::vector<OperationSite> all;
  for (const auto& [address, site] : operation_sites()) all.push_back(site);
  operation_sites().clear();
  return all;
}

inline namespace emulated {

void record_slow_path(std::uintptr_t address, std::uint64_t kind, const void* site, Ordering ordering) {
  Trace& log = trace;
  BlockRunner& runner = BlockRunner::of_this_thread();
  if (!runner.is_running()) return;  // host code
  const auto place = reinterpret_cast<std::uintptr_t>(site);
  {
    const OutsideKernel aside(runner);
    kind |= space_of(address, kind, place);
    if (log.hazards && !(kind & AccessKind::kConstant))
      log.hazards->access(runner.thread(), {.address = canonical(address, kind),
                                            .bytes = 1u << (kind & AccessKind::kSizeMask),
                                            .is_store = (kind & AccessKind::kStore) != 0,
                                            .is_shared = (kind & AccessKind::kShared) != 0,
                                            .is_atomic = ordering == Ordering::atomic,
                                            .is_volatile = ordering == Ordering::is_volatile,
                                            .is_async = ordering == Ordering::async,
                                            .site = place});
  }
  log.position = place;
  if (!log.counting) return;
  if (log.key == log.full) runner.wait_for_log();
  *log.key++ = place << AccessKind::kBits | kind;
  *log.word++ = static_cast<std::int32_t>(address >> kWordShift & kWordMask);
  if (log.hazards) log.end = log.key;
}

void* allocate_in_kernel(std::size_t bytes) {
  const OutsideKernel aside(BlockRunner::of_this_thread());
  return device_heap().allocate(bytes);
}

void free_in_kernel(void* memory, std::source_location where) {
  if (!memory) return;
  bool released = false;
  {
    const OutsideKernel aside(BlockRunner::of_this_thread());
    released = device_heap().release(memory);
  }
  if (!released) fail_thread(finding_kind::out_of_bounds, "frees what is no memory of the heap, or is free", where);
}

void count_at_line(Operations OperationSite::*unit, OperationKind kind, std::uint64_t number) {
  const auto place = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  const OutsideKernel aside(BlockRunner::of_this_thread());
  count_at_place(place, unit, kind, number);
}

void count_at_place(std::uintptr_t place, Operations OperationSite::*unit, OperationKind kind, std::uint64_t number) {
  OperationSite& site = operation_sites()[place];
  site.address = place;
  (site.*unit).*kind += number;
}

namespace {

/// The slow path of a backward branch: the log is full, or every entry takes the slow path.
[[gnu::noinline]] void loop_slow_path() {
  Trace& log = trace;
  if (!log.full) return;  // no log: host code, possibly before the runner has been created
  BlockRunner& runner = BlockRunner::of_this_thread();
  if (!runner.is_running()) return;
  if (log.key == log.full) runner.wait_for_log();
  *log.key++ = log.position << AccessKind::kBits | AccessKind::kLoop;
  *log.word++ = 0;
  if (log.hazards) log.end = log.key;
}

[[gnu::noinline]] void stop_runaway() {
  BlockRunner& runner = BlockRunner::of_this_thread();
  if (!runner.is_running()) {
    trace.budget = 1;  // reported at the next basic block of kernel code
    return;
  }
  const auto found = [&] {
    const OutsideKernel aside(runner);
    return runaway(trace.position);
  };
  runner.stop(found());
}

}  // namespace

// GCC's -fsanitize-coverage=trace-pc calls this at the start of every basic block of a traced kernel. It has another
// name in C++, since GCC assumes that a function of that name never throws.
RUNG_UNTRACED void block_reached() asm("__sanitizer_cov_trace_pc");
void block_reached() {
  Trace& log = trace;
  const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0));
  if (--log.budget == 0) [[unlikely]]
    stop_runaway();
  if (here <= log.position) {
    if (log.key != log.end) {
      *log.key++ = log.position << AccessKind::kBits | AccessKind::kLoop;
      *log.word++ = 0;
    } else {
      loop_slow_path();
    }
  }
  log.position = here;
}

namespace {

/// Host code, built with the same option, has exceeded an array: the program cannot continue.
[[noreturn]] void stop_host(const void* data) {
  std::fprintf(stderr, "rung: array subscript out of bounds at %s\n", subscript_place(data).c_str());
  std::abort();
}

}  // namespace

// GCC's -fsanitize=bounds calls this before an element beyond the declared bound of its array is used. The access that
// follows fails the thread; forming the address of one past the end alone is legal.
extern "C" RUNG_UNTRACED void __ubsan_handle_out_of_bounds(void* data, void* index) {
  if (!BlockRunner::of_this_thread().is_running()) stop_host(data);
  trace.bad_subscript = data;
  trace.bad_index = reinterpret_cast<std::intptr_t>(index);
  trace.end = trace.key;
}
extern "C" RUNG_UNTRACED void __ubsan_handle_out_of_bounds_abort(void* data, void* index) {
  __ubsan_handle_out_of_bounds(data, index);
}

}  // namespace emulated
}  // namespace rung
