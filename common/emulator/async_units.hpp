/// The state behind async.hpp: of a block, and of what the blocks of a launch share.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/emulator/async.hpp"
#include "common/emulator/emulator.hpp"
#include "common/emulator/happens_before.hpp"
#include "common/emulator/tile_product.hpp"

namespace rung {

class BlockRunner;

/// What a suspended thread waits for.
struct Awaited {
  enum class Kind : std::uint8_t { phase, named, cluster } kind = Kind::phase;
  std::uint32_t barrier = 0;  ///< an address, or the id of a named barrier
  std::uint64_t count = 0;    ///< the parity; of other barriers, how often they were complete before
};

/// A copy from global to shared memory that is in flight.
struct AsyncCopy {
  void* to;
  const void* from;
  std::size_t bytes;
};

class AsyncUnits;
class BlockHazards;

/// The blocks of a launch in clusters: where each block's units are, and how the threads of a cluster meet.
struct Clusters {
  Clusters(std::size_t blocks, unsigned blocks_of_cluster)
      : size(blocks_of_cluster), units(blocks), meetings(blocks / blocks_of_cluster) {}
  struct Meeting {
    std::size_t arrived = 0;
    std::uint64_t times = 0;
    Handed arriving, ended;
  };
  unsigned size;                   ///< blocks of a cluster
  std::vector<AsyncUnits*> units;  ///< by block; null before it has begun and after its end
  std::vector<Meeting> meetings;   ///< by cluster
};

class AsyncUnits {
 public:
  explicit AsyncUnits(BlockRunner& runner) : runner_(runner) {}

  void begin_launch(std::size_t threads);
  /// `clusters`: null if each block is one of its own.
  void begin_block(std::size_t block, Clusters* clusters);
  /// What the block has issued to its units and no thread has waited for; "" if nothing.
  std::string left_at_end() const;
  /// The other blocks of the cluster no longer reach it.
  void end_block();

  /// Whether the thread need no longer wait. Makes the loads of a phase that ends.
  bool is_over(const Awaited& awaited);
  /// "the end of phase 1 of the mbarrier at byte 98304 of dynamic shared memory (2 of 8 arrivals are missing)".
  std::string text_of(const Awaited& awaited) const;
  /// Whether it is an mbarrier at which all have arrived, and only the bytes are others than expected.
  bool lacks_only_bytes(const Awaited& awaited) const;
  BulkCounts take_counts() { return std::exchange(counts_, {}); }

  SharedAddress address_of(const void* memory, std::source_location where);
  std::byte* memory_at(SharedAddress address, std::size_t bytes, std::source_location where);
  void init_mbarrier(SharedAddress barrier, int count, std::source_location where);
  /// By the running thread of `from`, when `copies` are complete.
  void arrive(SharedAddress barrier, int bytes, AsyncUnits& from, std::source_location where,
              std::vector<AsyncCopy> copies = {});
  void wait_for_phase(SharedAddress barrier, std::uint32_t parity, std::source_location where);
  void arrive_named(int id, int threads, bool waits, std::source_location where);
  void meet_cluster(std::source_location where);
  void fence_for_units();
  void check_cluster_read(SharedAddress address, std::size_t bytes, std::source_location where);
  unsigned rank() const;
  AsyncUnits& peer(unsigned rank, std::source_location where);

  void load(SharedAddress to, const TiledMatrix& from, SharedAddress barrier, int x, int y, std::uint32_t blocks,
            std::source_location where);
  void store(const TiledMatrix& to, SharedAddress from, int x, int y, std::source_location where);
  void wait_for_stores(std::size_t left);

  void fence_products();
  void open_product(TileProduct product);
  void commit_products();
  void wait_for_products(std::size_t left, std::source_location where);

 private:
  struct Box {
    TiledMatrix matrix;
    SharedAddress shared = 0;
    int x = 0, y = 0;
    std::source_location where = {};
    AsyncUnits* issuer = nullptr;
    std::uint32_t thread = 0;  ///< of the issuer
    std::uint64_t name = 0;    ///< of its access to shared memory, in the hazard checks
    std::int64_t bytes() const { return std::int64_t{matrix.box_row_bytes} * matrix.box_rows; }
  };
  struct Mbarrier {
    int count = 0, missing = 0;  ///< arrivals of a phase, and those that this one still lacks
    std::int64_t bytes = 0;      ///< expected and not there
    std::uint64_t phase = 0;
    std::vector<Box> loads;                           ///< issued, and not made before the phase ends
    std::vector<AsyncCopy> copies;                    ///< likewise
    std::source_location copied_for;                  ///< the last arrival that waits for some of them
    std::uint32_t first_thread = 0, first_epoch = 0;  ///< of its initialisation
    Handed arriving, ended;                           ///< from the arrivals, to those that wait
    std::int64_t bytes_issued() const;
    bool can_end() const { return missing == 0 && bytes == bytes_issued(); }
  };
  struct NamedBarrier {
    int threads = 0, arrived = 0;
    std::uint64_t times = 0;
    Handed arriving, ended;
  };
  struct Thread {
    std::vector<Box> stores;
    std::vector<TileProduct> products;
    std::size_t group = 0;
    bool has_fenced_products = false;
  };
  /// What is inside the matrix of a box.
  struct Inside {
    std::int64_t first_row, last_row, first_byte, last_byte;
    bool is_empty() const { return first_row >= last_row || first_byte >= last_byte; }
  };

  BlockHazards* hazards() const;
  Mbarrier& mbarrier_at(SharedAddress barrier, std::source_location where);
  /// The same; fails the thread, of `from`, if the barrier need not be initialised yet.
  Mbarrier& ready_mbarrier(SharedAddress barrier, AsyncUnits& from, std::source_location where);
  void begin_access(Box& box, AsyncUnits& in, bool is_store);
  void end_access(const Box& box, Handed& to);
  void check_global(const Box& box, bool is_store);
  void end_phase(Mbarrier& barrier);
  static Inside inside(const Box& box);
  void count(const Box& box, std::uint64_t& requests, std::uint64_t& bytes, std::uint64_t& sectors) const;
  void check(const Box& box, const char* what);
  void add_load(Box box, AsyncUnits& in, SharedAddress barrier);
  Clusters::Meeting& meeting();
  void make_load(const Box& box);
  void make_store(const Box& box);
  std::span<const std::uintptr_t> pieces_of(const TileProduct& product, std::uint32_t thread) const;
  void multiply_warp(std::uint32_t first_thread, std::size_t products);

  BlockRunner& runner_;
  std::size_t block_ = 0;
  Clusters* clusters_ = nullptr;
  Clusters::Meeting own_meeting_;
  SharedWindow window_;
  std::map<SharedAddress, Mbarrier> mbarriers_;
  std::array<NamedBarrier, 16> named_;
  std::vector<Thread> threads_;
  std::vector<Handed> of_products_;  ///< by warp: what its tensor cores have read
  BulkCounts counts_;
};

}  // namespace rung
