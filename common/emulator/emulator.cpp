#include "common/emulator/emulator.hpp"

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <numeric>
#include <tuple>
#include <utility>

#include "common/emulator/block.hpp"
#include "common/emulator/device_memory.hpp"
#include "common/emulator/estimate.hpp"
#include "common/emulator/findings.hpp"
#include "common/emulator/runtime.hpp"
#include "common/problem/problem.hpp"

namespace rung {
namespace {

thread_local Recording* innermost = nullptr;

/// Sums the entries of the same access.
void merge_sites(std::vector<SiteCounts>& into, const std::vector<SiteCounts>& other) {
  into.insert(into.end(), other.begin(), other.end());
  std::sort(into.begin(), into.end(), [](const auto& a, const auto& b) { return a.identity() < b.identity(); });
  std::size_t kept = 0;
  for (const SiteCounts& site : std::vector(into)) {
    if (kept == 0 || into[kept - 1].identity() != site.identity()) {
      into[kept++] = site;
      continue;
    }
    SiteCounts& sum = into[kept - 1];
    sum.requests += site.requests;
    sum.accesses += site.accesses;
    sum.divergent += site.divergent;
    sum.transactions += site.transactions;
  }
  into.resize(kept);
}

void merge_operations(std::vector<OperationSite>& into, const std::vector<OperationSite>& other) {
  for (const OperationSite& site : other) {
    const auto found = std::find_if(into.begin(), into.end(), [&](const auto& s) { return s.address == site.address; });
    OperationSite& sum = found == into.end() ? into.emplace_back(OperationSite{.address = site.address}) : *found;
    sum.fp32 += site.fp32;
    sum.fp64 += site.fp64;
    sum.tensor += site.tensor;
  }
}

/// The counters that requests and transactions of this kind of access are summed in.
std::pair<std::uint64_t*, std::uint64_t*> sums_of(Counts& counts, const SiteCounts& site) {
  if (site.is_constant) return {&counts.constant_requests, &counts.constant_words};
  if (site.is_shared && site.is_atomic) return {&counts.shared_atomic_requests, &counts.shared_atomic_wavefronts};
  if (site.is_shared && site.is_async) return {&counts.async_store_requests, &counts.async_store_wavefronts};
  if (site.is_shared && site.is_store) return {&counts.shared_store_requests, &counts.shared_store_wavefronts};
  if (site.is_shared) return {&counts.shared_load_requests, &counts.shared_load_wavefronts};
  if (site.is_atomic) return {&counts.atomic_requests, &counts.atomic_sectors};
  if (site.is_async) return {&counts.async_requests, &counts.async_sectors};
  if (site.is_store) return {&counts.store_requests, &counts.store_sectors};
  return {&counts.load_requests, &counts.load_sectors};
}

/// Adds the counts of these sites to the sums.
void add_to_sums(Counts& counts, const std::vector<SiteCounts>& sites) {
  for (const SiteCounts& site : sites) {
    const auto [requests, transactions] = sums_of(counts, site);
    *requests += site.requests;
    *transactions += site.transactions;
    counts.accesses += site.accesses;
    counts.divergent_requests += site.divergent;
    if (site.is_global()) (site.is_store ? counts.bytes_stored : counts.bytes_loaded) += site.accesses * site.bytes;
  }
}

/// The order in which blocks are started, as a permutation: from a block's rank to its linear index.
class BlockOrder {
 public:
  BlockOrder(std::size_t blocks, const EmulatorOptions& options) : blocks_(blocks) {
    if (options.order == Order::reverse) step_ = first_ = blocks - 1;
    if (options.order != Order::random) return;
    // A step coprime to the number of blocks visits each of them once.
    first_ = random_bits(options.seed, 0) % blocks;
    step_ = random_bits(options.seed, 1) % blocks;
    while (std::gcd(step_, blocks) != 1) step_ = (step_ + 1) % blocks;
  }
  std::size_t operator[](std::size_t rank) const {
    return static_cast<std::size_t>((static_cast<unsigned __int128>(rank) * step_ + first_) % blocks_);
  }

 private:
  std::size_t blocks_, first_ = 0, step_ = 1;
};

constexpr std::size_t kMostTogether = 512;  // blocks that take turns: an OS thread each

/// Runs every block of the launch on the OpenMP threads, or, if they wait for later ones, on a thread each, by turns.
/// If several fail, throws the failure of the one of least rank.
Counts run_grid(GridLaunch& launch) {
  const std::size_t blocks = launch.shape.grid.count();
  const BlockOrder order(blocks, launch.options);
  const bool is_together = Together::is_asked_for();
  if (is_together && blocks > kMostTogether)
    throw Error("the emulator runs at most " + std::to_string(kMostTogether) +
                " blocks that wait for each other; the launch has " + std::to_string(blocks));
  const int threads = static_cast<int>(is_together ? blocks : std::min<std::size_t>(blocks, omp_get_max_threads()));
  Turns turns(blocks);
  LaunchEstimate estimate(blocks);
  launch.turns = is_together ? &turns : nullptr;
  const unsigned cluster = Together::blocks_of_cluster();
  if (blocks % cluster != 0)
    throw Error("a grid of " + std::to_string(blocks) + " blocks is not made of clusters of " +
                std::to_string(cluster));
  Clusters clusters(is_together ? blocks : 0, cluster);
  launch.clusters = cluster > 1 ? &clusters : nullptr;
  std::atomic<std::size_t> next_rank{0};
  launch.failed_rank = blocks;
  std::exception_ptr failure;
  Counts counts;
  std::mutex mutex;
#pragma omp parallel num_threads(threads)
  {
    BlockRunner& runner = BlockRunner::of_this_thread();
    runner.begin(launch);
    for (std::size_t rank; (rank = next_rank++) < launch.failed_rank;) try {
        if (is_together && omp_get_num_threads() < threads)
          throw Error("OpenMP allows " + std::to_string(omp_get_num_threads()) + " threads; the " +
                      std::to_string(blocks) + " blocks wait for each other and need one each");
        runner.run(order[rank], rank);
        estimate.block_done();
      } catch (const Stopped&) {
      } catch (...) {
        turns.fail();
        const std::scoped_lock lock(mutex);
        if (rank >= launch.failed_rank) continue;
        launch.failed_rank = rank;
        failure = std::current_exception();
      }
    const Counts own = runner.finish();
    const std::scoped_lock lock(mutex);
    counts += own;
  }
  if (failure) std::rethrow_exception(failure);
  return counts;
}

/// Runs the grid, with a model of the caches if the options request it.
Counts run_modelled(GridLaunch& launch) {
  if (!launch.options.caches) return run_grid(launch);
  const Device& device = *launch.options.caches;
  CacheModel caches(device, launch.shape.grid.count(), resident_blocks(device, launch.shape, 0),
                    launch.shape.dynamic_shared_bytes);
  launch.caches = &caches;
  Counts counts = run_grid(launch);
  counts.caches = caches.finish();
  return counts;
}

/// Runs the grid and checks for hazards. A fault that ends a block becomes a finding, not an error, and the last one.
Counts run_checked(GridLaunch& launch) {
  GridHazards hazards(launch.shape.grid.count());
  for (const Allocation& buffer : launch.buffers) hazards.add_buffer(buffer.begin, buffer.bytes, buffer.written);
  launch.hazards = &hazards;
  EarlyExits early_exits;
  launch.early_exits = &early_exits;
  Counts counts;
  std::vector<Finding> fatal;
  try {
    counts = run_modelled(launch);
  } catch (const Fault& fault) {
    fatal.push_back(fault.finding);
  }
  std::vector<Finding>& all = counts.findings;
  for (Finding& finding : early_exits.take()) all.push_back(std::move(finding));
  for (const Hazard& hazard : hazards.take()) all.push_back(finding_of(hazard, launch.shape, launch.kernel));
  all.insert(all.end(), fatal.begin(), fatal.end());
  counts.is_cut_short = !fatal.empty();
  return counts;
}

/// Why no current device can run the launch: CUDA's name for the error, and the reason; empty if one can. Limits from
/// the table of technical specifications in the CUDA programming guide.
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
    return "cudaErrorInvalidValue: a block has at most 232448 bytes of shared memory; this one needs " +
           std::to_string(dynamic_bytes);
  return "";
}

}  // namespace

Order order_of(std::string_view name) {
  if (name == "forward") return Order::forward;
  if (name == "reverse") return Order::reverse;
  if (name == "random") return Order::random;
  throw Error("unknown order '" + std::string(name) + "': expected forward, reverse or random");
}

Operations& Operations::operator+=(const Operations& other) {
  adds += other.adds;
  muls += other.muls;
  fmas += other.fmas;
  specials += other.specials;
  return *this;
}

BulkCounts& BulkCounts::operator+=(const BulkCounts& other) {
  products += other.products;
  loads += other.loads;
  stores += other.stores;
  bytes_loaded += other.bytes_loaded;
  bytes_stored += other.bytes_stored;
  sectors_loaded += other.sectors_loaded;
  sectors_stored += other.sectors_stored;
  return *this;
}

Counts& Counts::operator+=(const Counts& other) {
  fp32 += other.fp32;
  fp64 += other.fp64;
  tensor += other.tensor;
  for (const EventCount& one : kEventCounts)
    if (!one.is_of_sites) this->*one.member += other.*one.member;
  seconds += other.seconds;
  caches += other.caches;
  bulk += other.bulk;
  bytes_loaded += other.bulk.bytes_loaded;
  bytes_stored += other.bulk.bytes_stored;
  findings.insert(findings.end(), other.findings.begin(), other.findings.end());
  is_cut_short |= other.is_cut_short;
  add_to_sums(*this, other.sites);
  merge_sites(sites, other.sites);
  merge_operations(operation_sites, other.operation_sites);
  return *this;
}

Recording::Recording(EmulatorOptions options) : options_(options), outer_(std::exchange(innermost, this)) {}
Recording::~Recording() { innermost = outer_; }
Recording* Recording::current() { return innermost; }

std::string refuse_emulation(const Kernel& kernel, const Launch& launch) {
  if (!kernel.gpu.not_emulated.empty()) return "not emulated: " + kernel.gpu.not_emulated;
  if (kernel.side() != "gpu") return "not emulated: not a GPU kernel";
  if (!kernel.gpu.emulate) return "not emulated: this program does not contain the emulator's build of the kernel";
  return beyond_limits(launch);
}

inline namespace emulated {

void run_emulated(const Call& call, const void* kernel, void (*body)(const void*), const void* closure,
                  std::size_t closure_bytes) {
  if (const std::string reason = beyond_limits(call.launch); !reason.empty()) throw Error(reason);
  Recording* recording = Recording::current();
  if (recording && recording->counts().is_cut_short) return;
  catch_crashes();
  const EmulatorOptions options = recording ? recording->options() : EmulatorOptions{.counting = false};
  GridLaunch launch{call.launch, body, {reinterpret_cast<std::uintptr_t>(closure), closure_bytes}, kernel, options};
  launch.buffers = allocations(options.hazards);
  const auto start = std::chrono::steady_clock::now();
  Counts counts = options.hazards ? run_checked(launch) : run_modelled(launch);
  counts.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.hazards) mark_all_written();  // stores were not tracked, so nothing may count as unwritten
  if (recording) recording->counts() += counts;
}

}  // namespace emulated
}  // namespace rung
