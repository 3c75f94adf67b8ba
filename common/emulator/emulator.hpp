/// The emulator's results and its entry for the rest of the program: runs a kernel's g++ build on the host, thread by
/// thread, and counts what its warps ask of the machine. Kernels never include this file; they include simt.hpp.
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

/// In which order blocks, warps and the lanes of a warp run between two barriers. A right kernel does not notice.
enum class Order { forward, reverse, random };

/// The order called "forward", "reverse" or "random"; throws Error for another name.
Order order_of(std::string_view name);

struct EmulatorOptions {
  Order order = Order::forward;
  std::uint64_t seed = 1;          ///< of the inputs and of Order::random
  bool counting = true;            ///< false: only the result is wanted
  bool hazards = false;            ///< look for races, uninitialised reads …; findings are kept, not thrown
  bool lines = false;              ///< operations by line of the source, too
  const Device* caches = nullptr;  ///< model this device's caches
  std::uint64_t budget = std::uint64_t{1} << 28;  ///< basic blocks of code that a block may run before it is stopped
};

/// Something that a kernel does and must not do.
struct Finding {
  FindingKind kind;
  std::string buffer;         ///< "as", "B"; empty where it is not about memory
  std::int64_t index = 0;     ///< of the element in the buffer
  std::string first, second;  ///< "block (0, 0, 0), thread (3, 0, 0), write at tiled.cu:27"; second may be empty
  std::uint64_t occurrences = 1;
  std::string text() const;  ///< all of it in one line
};

/// Floating-point operations of single threads, as the hardware's thread-instruction counters have them.
struct Operations {
  std::uint64_t adds = 0, muls = 0, fmas = 0;
  std::uint64_t specials = 0;  ///< divisions, roots, exponentials …: several instructions each on a GPU, not in flops()
  std::uint64_t flops() const { return adds + muls + 2 * fmas; }
  Operations& operator+=(const Operations& other);
};

/// What one access in the source, in one state space, did.
struct SiteCounts {
  std::uint64_t address = 0;  ///< return address of the access: one for each place in the code
  unsigned bytes = 0;         ///< of one lane's access
  bool is_store = false, is_shared = false;
  bool is_atomic = false, is_constant = false;
  bool is_async = false;           ///< of an asynchronous copy from global to shared memory: its load, its store
  std::uint64_t requests = 0;      ///< warp instructions
  std::uint64_t accesses = 0;      ///< active lanes of all requests
  std::uint64_t divergent = 0;     ///< requests that not all of the warp's threads took part in
  std::uint64_t transactions = 0;  ///< global memory: 32-byte sectors; shared: wavefronts; constant: distinct words
  bool is_global() const { return !is_shared && !is_constant; }
  /// The same place and kind of access; for adding up.
  auto identity() const { return std::tie(address, bytes, is_store, is_shared, is_atomic, is_constant, is_async); }
};

/// Floating-point operations of one place in the source.
struct OperationSite {
  std::uint64_t address = 0;  ///< a return address within the line
  Operations fp32, fp64;
};

/// What a kernel did. The memory counts are the sums over `sites`; "load" and "store" alone mean global memory.
/// Requests and sectors of atomics and asynchronous copies are counted apart; the bytes are of all of them (an atomic:
/// stored).
struct Counts {
  Operations fp32, fp64;
  std::uint64_t load_requests = 0, store_requests = 0;  ///< warp instructions
  std::uint64_t load_sectors = 0, store_sectors = 0;    ///< distinct 32-byte sectors of each request, summed
  std::uint64_t bytes_loaded = 0, bytes_stored = 0;     ///< requested: bytes of one access times active lanes
  std::uint64_t shared_load_requests = 0, shared_store_requests = 0;
  std::uint64_t shared_load_wavefronts = 0, shared_store_wavefronts = 0;  ///< requests plus bank conflicts
  std::uint64_t async_requests = 0, async_sectors = 0;                    ///< loads of asynchronous copies
  std::uint64_t atomic_requests = 0, atomic_sectors = 0, shared_atomic_requests = 0;
  std::uint64_t constant_requests = 0;
  std::uint64_t divergent_requests = 0;  ///< of all kinds: those that not all of the warp's threads took part in
  std::uint64_t barriers = 0;            ///< one for each warp that arrives
  std::uint64_t warp_barriers = 0, shuffles = 0;  ///< one for each group of lanes; votes count as shuffles
  std::uint64_t accesses = 0;                     ///< traced accesses of single threads, global and shared
  double seconds = 0;                             ///< that the emulation took
  std::vector<SiteCounts> sites;
  std::vector<OperationSite> operation_sites;  ///< with EmulatorOptions::lines
  std::vector<Finding> findings;               ///< with EmulatorOptions::hazards
  CacheCounts caches;                          ///< with EmulatorOptions::caches

  std::uint64_t flops() const { return fp32.flops() + fp64.flops(); }
  double op_per_byte_loaded() const { return ratio(flops(), bytes_loaded); }
  double op_per_byte_moved() const { return ratio(flops(), bytes_loaded + bytes_stored); }
  double sectors_per_load_request() const { return ratio(load_sectors, load_requests); }
  double sectors_per_store_request() const { return ratio(store_sectors, store_requests); }

  /// Adds another launch's counts.
  Counts& operator+=(const Counts& other);

 private:
  /// 0 / 0 is 0: a kernel that loads nothing has no ratio to show.
  static double ratio(std::uint64_t a, std::uint64_t b) {
    return b == 0 ? 0.0 : static_cast<double>(a) / static_cast<double>(b);
  }
};

/// While one lives, the launches that this OS thread makes follow its options and are added up in counts().
/// Without one they run forward and uncounted.
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

/// Why the emulator cannot run this launch of the kernel: the record's reason, or a device limit; empty if it can.
std::string refuse_emulation(const Kernel& kernel, const Launch& launch);

}  // namespace rung
