/// The emulator's interface to the rest of the program: it runs a kernel's g++ build on the host, thread by thread, and
/// counts the operations and memory requests of its warps. Kernels include simt.hpp, never this file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "common/emulator/caches.hpp"
#include "common/emulator/finding_kinds.hpp"
#include "common/registry.hpp"

namespace rung {

/// The order in which blocks, warps and the lanes of a warp run between two barriers. A correct kernel gives the same
/// result in each.
enum class Order { forward, reverse, random };

/// The order called "forward", "reverse" or "random"; throws Error for another name.
Order order_of(std::string_view name);

/// Far more than any kernel here runs; without optimisation there are several times as many.
#ifdef __OPTIMIZE__
constexpr std::uint64_t kBudget = std::uint64_t{1} << 28;
#else
constexpr std::uint64_t kBudget = std::uint64_t{1} << 31;
#endif

struct EmulatorOptions {
  Order order = Order::forward;
  std::uint64_t seed = 1;          ///< of the inputs and of Order::random
  bool counting = true;            ///< false: compute the result only
  bool hazards = false;            ///< check for races, uninitialised reads …; findings are collected, not thrown
  bool lines = false;              ///< also count operations by source line
  const Device* caches = nullptr;  ///< model this device's caches
  std::uint64_t budget = kBudget;  ///< basic blocks of code that a block may run before it is stopped
};

/// A fault or hazard of a kernel, described in the terms of its source.
struct Finding {
  FindingKind kind;
  std::string buffer;         ///< "as", "B"; empty if it does not concern memory
  std::int64_t index = 0;     ///< of the element in the buffer
  std::string first, second;  ///< "block (0, 0, 0), thread (3, 0, 0), write at tiled.cu:27"; second may be empty
  std::uint64_t occurrences = 1;
  std::string text() const;  ///< all of it on one line
};

/// Floating-point operations, counted per thread like the hardware's thread-instruction counters.
struct Operations {
  std::uint64_t adds = 0, muls = 0, fmas = 0;
  std::uint64_t specials = 0;  ///< divisions, roots, exponentials …: several instructions each on a GPU, not in flops()
  std::uint64_t flops() const { return adds + muls + 2 * fmas; }
  Operations& operator+=(const Operations& other);
};

/// The counts of one access in the source, in one memory space.
struct SiteCounts {
  std::uint64_t address = 0;  ///< return address of the access: identifies its place in the code
  unsigned bytes = 0;         ///< of one lane's access
  bool is_store = false, is_shared = false;
  bool is_atomic = false, is_constant = false;
  bool is_async = false;        ///< the load or the store of an asynchronous copy from global to shared memory
  std::uint64_t requests = 0;   ///< warp instructions
  std::uint64_t accesses = 0;   ///< active lanes of all requests
  std::uint64_t divergent = 0;  ///< requests in which not all threads of the warp are active
  /// Global memory: 32-byte sectors, summed over the passes of an atomic; shared: wavefronts; constant: distinct words.
  std::uint64_t transactions = 0;
  bool is_global() const { return !is_shared && !is_constant; }
  /// The place and kind of the access: counts with the same identity are summed.
  auto identity() const { return std::tie(address, bytes, is_store, is_shared, is_atomic, is_constant, is_async); }
};

/// Floating-point operations of one place in the source.
struct OperationSite {
  std::uint64_t address = 0;  ///< a return address within the line
  Operations fp32, fp64, tensor;
};

/// Operations of the asynchronous units. TMA moves whole tiles between global and shared memory; only bytes and sectors
/// inside the matrices count. The units' accesses to shared memory are not counted in wavefronts: how hardware counters
/// add them up is not known.
struct BulkCounts {
  std::uint64_t products = 0;           ///< wgmma instructions, one for each warp
  std::uint64_t loads = 0, stores = 0;  ///< instructions
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;
  std::uint64_t sectors_loaded = 0, sectors_stored = 0;
  BulkCounts& operator+=(const BulkCounts& other);
};

/// The counts of a kernel. Those of memory are sums over `sites`; "load" and "store" alone mean global memory. Requests
/// and sectors of atomics and asynchronous copies are counted separately; the bytes include them (an atomic counts as a
/// store).
struct Counts {
  Operations fp32, fp64;
  Operations tensor;  ///< of matrix instructions: the multiply-adds of the warp, shared out among its lanes
  std::uint64_t load_requests = 0, store_requests = 0;  ///< warp instructions
  std::uint64_t load_sectors = 0, store_sectors = 0;    ///< distinct 32-byte sectors of each request, summed
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;     ///< requested: bytes of one access times active lanes
  std::uint64_t shared_load_requests = 0, shared_store_requests = 0;
  std::uint64_t shared_load_wavefronts = 0, shared_store_wavefronts = 0;  ///< requests plus bank conflicts
  std::uint64_t async_requests = 0, async_sectors = 0;                    ///< loads of asynchronous copies
  std::uint64_t async_store_requests = 0, async_store_wavefronts = 0;     ///< what these store in shared memory
  BulkCounts bulk;                                                        ///< counted separately, except their bytes
  /// Lanes that share an address are served in passes, one of each address at a time: their sectors add up.
  std::uint64_t atomic_requests = 0, atomic_sectors = 0;
  std::uint64_t shared_atomic_requests = 0, shared_atomic_wavefronts = 0;
  std::uint64_t constant_requests = 0, constant_words = 0;  ///< distinct words of each request, summed
  std::uint64_t divergent_requests = 0;  ///< of all kinds: those in which not all threads of the warp are active
  std::uint64_t barriers = 0;            ///< one for each arriving warp
  std::uint64_t warp_barriers = 0, shuffles = 0;  ///< one for each group of lanes; votes count as shuffles
  std::uint64_t accesses = 0;                     ///< accesses of single threads, to global and shared memory
  double seconds = 0;                             ///< duration of the emulation
  std::vector<SiteCounts> sites;
  std::vector<OperationSite> operation_sites;  ///< with EmulatorOptions::lines
  std::vector<Finding> findings;               ///< with EmulatorOptions::hazards
  /// The last finding is a fault that ended a block. Its results are incomplete and later launches would depend on
  /// them, so those were not run.
  bool is_cut_short = false;
  CacheCounts caches;  ///< with EmulatorOptions::caches

  std::uint64_t flops() const { return fp32.flops() + fp64.flops() + tensor.flops(); }
  double op_per_byte_loaded() const { return ratio(flops(), bytes_loaded); }
  double op_per_byte_moved() const { return ratio(flops(), bytes_loaded + bytes_stored); }
  double sectors_per_load_request() const { return ratio(load_sectors, load_requests); }
  double sectors_per_store_request() const { return ratio(store_sectors, store_requests); }

  /// Adds another launch's counts.
  Counts& operator+=(const Counts& other);

 private:
  /// 0 if b is 0: a kernel that loads nothing has no ratio.
  static double ratio(std::uint64_t a, std::uint64_t b) {
    return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

/// A count of events. Its declaration here is all that results, sums over launches and `rung count` need of it.
struct EventCount {
  const char* key;  ///< in results
  std::uint64_t Counts::*member;
  const char *label, *note;  ///< as `rung count` prints it, where it is not 0
  bool is_of_sites = false;  ///< summed over the accesses in the source, not over launches
};
inline constexpr EventCount kEventCounts[] = {
    {"barriers", &Counts::barriers, "barriers", "one for each warp that arrives"},
    {"warp_barriers", &Counts::warp_barriers, "warp barriers", ""},
    {"shuffles", &Counts::shuffles, "shuffles and votes", ""},
    {"divergent_requests", &Counts::divergent_requests, "divergent requests", "without some of the warp's threads",
     true},
};

/// While it exists, launches by this OS thread use its options and are summed in counts(). Without one they run in
/// forward order and are not counted.
class Recording {
 public:
  explicit Recording(EmulatorOptions options = {});
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  const EmulatorOptions& options() const { return options_; }
  Counts& counts() { return counts_; }
  /// The innermost one of this OS thread, or null.
  static Recording* current();

 private:
  EmulatorOptions options_;
  Counts counts_;
  Recording* outer_;
};

/// Why the emulator cannot run this launch of the kernel: the reason in its record, or a device limit; empty if it can.
std::string refuse_emulation(const Kernel& kernel, const Launch& launch);

}  // namespace rung
