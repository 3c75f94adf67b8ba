#include "gpu/simt/emulator.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

#include "gpu/simt/emulated.hpp"
#include "gpu/simt/emulator_block.hpp"

namespace rung {
namespace {

thread_local Recording* innermost = nullptr;

/// Adds up the counts of the same access.
void merge_sites(std::vector<SiteCounts>& into, const std::vector<SiteCounts>& other) {
  const auto identity = [](const SiteCounts& s) {
    return std::make_tuple(s.address, s.is_store, s.is_shared, s.bytes);
  };
  std::map<decltype(identity(into[0])), SiteCounts> all;
  for (const auto* sites : {&std::as_const(into), &other})
    for (const SiteCounts& site : *sites) {
      const auto [place, is_new] = all.try_emplace(identity(site), site);
      if (is_new) continue;
      place->second.requests += site.requests;
      place->second.accesses += site.accesses;
      place->second.transactions += site.transactions;
    }
  into.clear();
  for (const auto& [key, site] : all) into.push_back(site);
}

/// Sets the sums over the sites.
void sum_sites(Counts& counts) {
  const auto reset = [](auto&... sum) { ((sum = 0), ...); };
  reset(counts.load_requests, counts.load_sectors, counts.bytes_loaded, counts.store_requests, counts.store_sectors,
        counts.bytes_stored, counts.shared_load_requests, counts.shared_load_wavefronts, counts.shared_store_requests,
        counts.shared_store_wavefronts, counts.accesses);
  for (const SiteCounts& site : counts.sites) {
    counts.accesses += site.accesses;
    if (site.is_shared) {
      (site.is_store ? counts.shared_store_requests : counts.shared_load_requests) += site.requests;
      (site.is_store ? counts.shared_store_wavefronts : counts.shared_load_wavefronts) += site.transactions;
    } else {
      (site.is_store ? counts.store_requests : counts.load_requests) += site.requests;
      (site.is_store ? counts.store_sectors : counts.load_sectors) += site.transactions;
      (site.is_store ? counts.bytes_stored : counts.bytes_loaded) += site.accesses * site.bytes;
    }
  }
}

/// Which block runs at a turn.
class BlockOrder {
 public:
  BlockOrder(std::size_t blocks, const EmulatorOptions& options) : blocks_(blocks) {
    if (options.order == Order::reverse) step_ = first_ = blocks - 1;
    if (options.order != Order::random) return;
    // A step that has no factor in common with the number of blocks visits each of them once.
    first_ = random_bits(options.seed, 0) % blocks;
    step_ = random_bits(options.seed, 1) % blocks;
    while (std::gcd(step_, blocks) != 1) step_ = (step_ + 1) % blocks;
  }
  std::size_t operator[](std::size_t turn) const {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(turn) * step_ + first_) % blocks_);
  }

 private:
  std::size_t blocks_, first_ = 0, step_ = 1;
};

/// Runs every block of the launch on the OpenMP threads. Throws the failure of the block that comes first.
Counts run_grid(const GridLaunch& launch) {
  const std::size_t blocks = launch.shape.grid.count();
  const BlockOrder order(blocks, launch.options);
  const int threads = static_cast<int>(std::min<std::size_t>(blocks, omp_get_max_threads()));
  std::atomic<std::size_t> next_turn{0}, failed_turn{blocks};
  std::exception_ptr failure;
  Counts counts;
  std::mutex mutex;
#pragma omp parallel num_threads(threads)
  {
    BlockRunner& runner = BlockRunner::of_this_thread();
    runner.begin(launch);
    for (std::size_t turn; (turn = next_turn++) < failed_turn;) try {
        runner.run(order[turn]);
      } catch (...) {
        const std::scoped_lock lock(mutex);
        if (turn >= failed_turn) continue;
        failed_turn = turn;
        failure = std::current_exception();
      }
    const Counts own = runner.finish();
    const std::scoped_lock lock(mutex);
    counts += own;
  }
  if (failure) std::rethrow_exception(failure);
  return counts;
}

/// What a current device allows, from the CUDA programming guide's table of technical specifications.
/// Empty if the launch is allowed, else the error as CUDA names it, and why.
std::string beyond_limits(const Launch& launch) {
  constexpr std::size_t threads = 1024, shared_bytes = 227 << 10;
  const auto& [grid, block, dynamic_bytes] = launch;
  if (grid.count() == 0 || block.count() == 0) return "cudaErrorInvalidConfiguration: an empty grid or block";
  if (block.count() > threads || block.x > 1024 || block.y > 1024 || block.z > 64)
    return "cudaErrorInvalidConfiguration: a block has at most 1024 threads, 64 of them along z; this one has " +
           std::to_string(block.x) + " x " + std::to_string(block.y) + " x " + std::to_string(block.z);
  if (grid.x > 2147483647u || grid.y > 65535 || grid.z > 65535)
    return "cudaErrorInvalidConfiguration: a grid has at most 65535 blocks along y and z";
  if (dynamic_bytes > shared_bytes)
    return "cudaErrorInvalidValue: a block has at most 232448 bytes of shared memory; this one wants " +
           std::to_string(dynamic_bytes);
  return "";
}

}  // namespace

Order order_of(std::string_view name) {
  if (name == "forward") return Order::forward;
  if (name == "reverse") return Order::reverse;
  if (name == "random") return Order::random;
  throw Error("'" + std::string(name) + "' is no order: forward, reverse or random");
}

Operations& Operations::operator+=(const Operations& other) {
  adds += other.adds;
  muls += other.muls;
  fmas += other.fmas;
  specials += other.specials;
  return *this;
}

Counts& Counts::operator+=(const Counts& other) {
  fp32 += other.fp32;
  fp64 += other.fp64;
  barriers += other.barriers;
  seconds += other.seconds;
  merge_sites(sites, other.sites);
  sum_sites(*this);
  return *this;
}

Recording::Recording(EmulatorOptions options) : options_(options), outer_(std::exchange(innermost, this)) {}
Recording::~Recording() { innermost = outer_; }
Recording* Recording::current() { return innermost; }

std::string refuse_emulation(const Kernel& kernel, const Launch& launch) {
  if (!kernel.not_emulated.empty()) return "not emulated: " + kernel.not_emulated;
  if (kernel.side() != "gpu") return "not a GPU kernel: the emulator counts what warps do";
  if (!kernel.emulate) return "not emulated: the program was built without the emulator's build of its file";
  return beyond_limits(launch);
}

inline namespace emulated {

void run_emulated(const Call& call, const void* kernel, void (*body)(const void*), const void* closure) {
  if (call.inspect) return;  // the registers of a kernel are a GPU compiler's matter
  if (const std::string reason = beyond_limits(call.launch); !reason.empty()) throw Error(reason);
  Recording* recording = Recording::current();
  const EmulatorOptions options = recording ? recording->options() : EmulatorOptions{.counting = false};
  const auto start = std::chrono::steady_clock::now();
  Counts counts = run_grid({call.launch, body, closure, kernel, options});
  counts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (recording) recording->counts() += counts;
}

}  // namespace emulated
}  // namespace rung
