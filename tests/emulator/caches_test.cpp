/// The cache model: small cases worked by hand, and large ones against an H200's counters.
#include "common/emulator/caches.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "common/emulator/half_warps.hpp"

namespace rung {
namespace {

constexpr std::size_t kKiB = 1024;
constexpr unsigned kAll = 15;

/// Turing: an L1 of 64 KiB (512 lines, 32 sets) without shared memory, an L2 in one piece, here of 32 lines in 2 sets.
/// Lines 2m and 2m + 1 are in different sets of the L2.
Device small_device(int sms, std::size_t l2_bytes = 4 * kKiB) {
  return {.name = "small", .major = 7, .minor = 5, .sm_count = sms, .l2_bytes = l2_bytes};
}

struct Request {
  std::uint64_t line;
  unsigned sectors = kAll;
  bool is_store = false;
};
using Requests = std::vector<Request>;

RequestStream stream(const Requests& requests) {
  RequestStream s;
  for (const Request& r : requests) s.add(r.line, r.sectors, r.is_store);
  return s;
}

Requests lines(std::uint64_t first, std::uint64_t end, unsigned sectors = kAll, bool is_store = false) {
  Requests all;
  for (std::uint64_t line = first; line < end; ++line) all.push_back({line, sectors, is_store});
  return all;
}

Requests operator+(Requests left, const Requests& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

/// Each element is a block.
CacheCounts played(const Device& device, const std::vector<Requests>& blocks, int blocks_per_sm = 1,
                   std::size_t shared_bytes = 0) {
  CacheModel caches(device, blocks.size(), blocks_per_sm, shared_bytes);
  for (std::size_t i = 0; i < blocks.size(); ++i) caches.add_block(i, stream(blocks[i]));
  return caches.finish();
}

bool operator==(const CacheCounts& a, const CacheCounts& b) {
  return a.l1_load_sectors == b.l1_load_sectors && a.l1_load_hits == b.l1_load_hits &&
         a.l2_load_sectors == b.l2_load_sectors && a.l2_load_hits == b.l2_load_hits &&
         a.l2_store_sectors == b.l2_store_sectors && a.l2_store_hits == b.l2_store_hits &&
         a.dram_read_sectors == b.dram_read_sectors && a.dram_written_sectors == b.dram_written_sectors;
}

// ---- One level at a time ----

TEST(Caches, AMissFetchesItsSectorsIntoTheL1AndTheirPairsIntoTheL2) {
  const CacheCounts n = played(small_device(1), {{{7, 1}, {7, 2}, {7, 4}, {7, kAll}}});
  EXPECT_EQ(n.l1_load_sectors, 7u);
  EXPECT_EQ(n.l1_load_hits, 3u);  // of the last request, all but the fourth sector
  EXPECT_EQ(n.l2_load_sectors, 4u);
  EXPECT_EQ(n.l2_load_hits, 2u);  // the second sector came with the first, the fourth with the third
  EXPECT_EQ(n.dram_read_sectors, 4u);
  EXPECT_EQ(n.dram_written_sectors, 0u);
  EXPECT_DOUBLE_EQ(n.dram_bytes(), 128.0);
  EXPECT_DOUBLE_EQ(n.l1_hit_rate(), 3.0 / 7);
  EXPECT_DOUBLE_EQ(n.l2_hit_rate(), 0.5);
  const CacheCounts downwards = played(small_device(1), {{{7, 8}, {7, 4}, {7, 2}, {7, 1}}});
  EXPECT_EQ(downwards.l2_load_hits, 2u);
  EXPECT_EQ(downwards.dram_read_sectors, 4u);
}

TEST(Caches, AStoreFetchesNothingAndIsHitByTheNextLoad) {
  const CacheCounts n = played(small_device(1), {{{5, kAll, true}, {5}, {5, kAll, true}}});
  EXPECT_EQ(n.l1_load_hits, 4u);
  EXPECT_EQ(n.l2_load_sectors, 0u);
  EXPECT_EQ(n.l2_store_sectors, 8u);
  EXPECT_EQ(n.l2_store_hits, 4u);
  EXPECT_EQ(n.dram_read_sectors + n.dram_written_sectors, 0u);
}

TEST(Caches, AStoredSectorSaysNothingOfItsNeighbour) {
  const CacheCounts n = played(small_device(1), {{{5, 1, true}, {5, 3}}});
  EXPECT_EQ(n.l1_load_hits, 1u);
  EXPECT_EQ(n.l2_load_sectors, 1u);
  EXPECT_EQ(n.l2_load_hits, 0u);
  EXPECT_EQ(n.dram_read_sectors, 1u);  // of the pair, only what is missing
}

TEST(Caches, StoresTakeRoomInTheL1) {
  const auto reload = [](std::uint64_t stored) {
    return played(small_device(1, 1024 * kKiB), {lines(0, 256) + lines(256, 256 + stored, kAll, true) + lines(0, 256)})
        .l1_load_hits;
  };
  EXPECT_EQ(reload(256), 256u * 4);
  EXPECT_EQ(reload(512), 0u);
}

TEST(Caches, TheL1HoldsWhatFitsAndLosesOneSetToOneLineMore) {
  const auto hits = [](std::uint64_t n) { return played(small_device(1), {lines(0, n) + lines(0, n)}).l1_load_hits; };
  EXPECT_EQ(hits(1), 4u);
  EXPECT_EQ(hits(511), 511u * 4);
  EXPECT_EQ(hits(512), 512u * 4);
  EXPECT_EQ(hits(513), (513u - 17) * 4);  // 17 lines go round in a set of 16
  EXPECT_EQ(hits(1024), 0u);
  EXPECT_EQ(played(small_device(1), {lines(1000, 1512) + lines(1000, 1512)}).l1_load_sectors, 512u * 8);
}

TEST(Caches, SharedMemoryLeavesLessForTheL1) {
  const auto hits = [](std::size_t shared_bytes) {
    return played(small_device(1), {lines(0, 512) + lines(0, 512)}, 1, shared_bytes).l1_load_hits;
  };
  EXPECT_EQ(hits(32 * kKiB), 512u * 4);
  EXPECT_EQ(hits(32 * kKiB + 1), 0u);
}

TEST(Caches, TheL2ReplacesTheLeastRecentlyUsedLine) {
  // SM 0 fills both sets; SM 1 uses lines 0 and 1 again and brings two more, for which 2 and 3 leave.
  const Device device = small_device(3);
  const Requests filled = lines(0, 32), again = lines(0, 2) + lines(32, 34);
  const auto then = [&](const Requests& last) {
    return played(device, {filled, {}, {}, {}, again, {}, {}, {}, last}).dram_read_sectors;
  };
  EXPECT_EQ(then({}), 34u * 4);
  EXPECT_EQ(then(lines(0, 2)), 34u * 4);
  EXPECT_EQ(then(lines(32, 34)), 34u * 4);
  EXPECT_EQ(then(lines(4, 32)), 34u * 4);
  EXPECT_EQ(then(lines(2, 4)), 36u * 4);
}

TEST(Caches, DramIsWrittenWhenADirtyLineLeaves) {
  const auto written = [](const Requests& requests) {
    return played(small_device(1), {requests}).dram_written_sectors;
  };
  EXPECT_EQ(written(lines(0, 16, 2, true)), 0u);  // stays dirty, as when a kernel ends
  EXPECT_EQ(written(lines(0, 16, 2, true) + lines(16, 32)), 0u);
  EXPECT_EQ(written(lines(0, 16, 2, true) + lines(16, 34)), 2u);
  EXPECT_EQ(written(lines(0, 16, 2, true) + lines(16, 48)), 16u);
  EXPECT_EQ(written(lines(0, 16, 5, true) + lines(0, 16, 8, true) + lines(16, 48)), 16u * 3);
  EXPECT_EQ(written(lines(0, 64)), 0u);
}

TEST(Caches, HalfOfASetMayBeDirty) {
  const auto counts = [](const Requests& requests) { return played(small_device(1), {requests}); };
  EXPECT_EQ(counts(lines(0, 18, kAll, true)).dram_written_sectors, 2u * 4);
  EXPECT_EQ(counts(lines(0, 32, kAll, true)).dram_written_sectors, 16u * 4);
  // What was written stays: a second store finds it, and makes it dirty again at the cost of another line.
  const CacheCounts twice = counts(lines(0, 18, kAll, true) + lines(0, 2, kAll, true));
  EXPECT_EQ(twice.l2_store_hits, 2u * 4);
  EXPECT_EQ(twice.dram_written_sectors, 4u * 4);
}

// ---- Multiprocessors, waves and turns ----

TEST(Caches, TwoMultiprocessorsShareTheL2AndNotTheL1) {
  const CacheCounts apart = played(small_device(2), {{{9}}, {{9}}});
  EXPECT_EQ(apart.l1_load_hits, 0u);
  EXPECT_EQ(apart.l2_load_hits, 4u);
  EXPECT_EQ(apart.dram_read_sectors, 4u);
  const CacheCounts together = played(small_device(2), {{{9}}, {}, {{9}}, {}}, 2);
  EXPECT_EQ(together.l1_load_hits, 4u);
  EXPECT_EQ(together.l2_load_hits, 0u);
}

TEST(Caches, ResidentBlocksTakeTurns) {
  // Twice the L2's size: a block that follows another step by step finds all data there, a later one finds nothing.
  const Requests walk = lines(0, 64);
  EXPECT_EQ(played(small_device(2), {walk, walk}).l2_load_hits, 64u * 4);
  EXPECT_EQ(played(small_device(2), {walk, {}, {}, walk}).l2_load_hits, 0u);
}

TEST(Caches, EachWaveStartsWithTheFirstMultiprocessorAgain) {
  // Turns 0 and 2 are on SM 0, 1 and 3 on SM 1; in a wave of three SMs, turn 3 is on SM 0.
  EXPECT_EQ(played(small_device(2), {{{1}}, {}, {{1}}, {}}).l1_load_hits, 4u);
  EXPECT_EQ(played(small_device(2), {{{1}}, {}, {}, {{1}}}).l1_load_hits, 0u);
  EXPECT_EQ(played(small_device(3), {{{1}}, {}, {}, {{1}}}).l1_load_hits, 4u);
}

TEST(Caches, AMatrixReadByColumns) {
  // A row is one line, a column eight sectors' worth of rows apart: the eight floats of a sector are read one by one.
  const auto by_columns = [](std::uint64_t rows) {
    Requests all;
    for (int column = 0; column < 8; ++column) all = all + lines(0, rows, 1);
    return played(small_device(1), {all});
  };
  EXPECT_EQ(by_columns(512).l1_load_hits, 7u * 512);
  EXPECT_EQ(by_columns(512).dram_read_sectors, 2u * 512);
  EXPECT_EQ(by_columns(1024).l1_load_hits, 0u);
  EXPECT_EQ(by_columns(1024).dram_read_sectors, 8u * 2 * 1024);
  // Rows of 32 lines: half of the L1's number of lines is distributed over its sets well enough.
  Requests column;
  for (std::uint64_t row = 0; row < 256; ++row) column.push_back({row * 32, 1});
  EXPECT_GT(played(small_device(1), {column + column}).l1_load_hits, 200u);
}

// ---- Two halves ----

TEST(Caches, AnL2InHalvesKeepsACopyForTheOtherSide) {
  const Device device{.name = "halves", .major = 9, .minor = 0, .sm_count = 4, .l2_bytes = 8 * kKiB};
  // Line 1 is at home in half 1, with SMs 2 and 3; line 3 in half 0, with SMs 0 and 1.
  const auto counts = [&](const std::vector<Requests>& blocks) { return played(device, blocks); };
  EXPECT_EQ(counts({{{1}}, {{1}}, {}, {}}).l2_load_hits, 4u);  // SM 1 finds SM 0's copy
  EXPECT_EQ(counts({{{1}}, {}, {{1}}, {}}).l2_load_hits, 4u);  // SM 2 finds the line at home
  const CacheCounts first_copy = counts({{}, {}, {{1}}, {{3}}, {{1}}, {{3}}, {}, {}});
  EXPECT_EQ(first_copy.l2_load_hits, 4u);  // line 3 in SM 1's half, but no copy of line 1
  EXPECT_EQ(first_copy.dram_read_sectors, 8u);
  // Stores go to the line's home, from any SM.
  const CacheCounts stored = counts({{{1, kAll, true}}, {}, {{1, kAll, true}}, {{1}}});
  EXPECT_EQ(stored.l2_store_hits, 4u);
  EXPECT_EQ(stored.l2_load_hits, 4u);
}

/// Read twice by one block on each SM of an H200, in pieces of 16 KiB; the second time by another SM if shift > 0.
double read_twice_mb(std::uint64_t mib, std::uint64_t shift) {
  const Device& h200 = find_device("H200");
  constexpr std::uint64_t kBlocks = 132, kPiece = 128;
  CacheModel caches(h200, kBlocks, 2, 0);
  for (std::uint64_t block = 0; block < kBlocks; ++block) {
    RequestStream s;
    for (const std::uint64_t reader : {block, (block + shift) % kBlocks})
      for (std::uint64_t line = reader * kPiece; line < mib << 13; line += kBlocks * kPiece)
        for (std::uint64_t i = 0; i < kPiece; ++i) s.add(line + i, kAll, false);
    caches.add_block(block, std::move(s));
  }
  return caches.finish().dram_bytes() / 1e6;
}

TEST(Caches, AgreesWithAnH200OnWhatItsL2Holds) {
  // dram__bytes_read.sum of the same walk (ld.global.cg) with Nsight Compute, in MB.
  EXPECT_NEAR(read_twice_mb(24, 0), 25.17, 0.3);
  EXPECT_NEAR(read_twice_mb(32, 61), 34.19, 1.0);
  EXPECT_NEAR(read_twice_mb(48, 0), 92.26, 5);
  EXPECT_NEAR(read_twice_mb(56, 61), 116.6, 1.5);
}

// ---- Arrival ----

std::vector<Requests> pseudorandom_blocks(std::size_t count) {
  std::vector<Requests> blocks(count);
  std::uint64_t x = 1;
  for (Requests& block : blocks)
    for (int i = 0; i < 50; ++i) {
      x = x * 6364136223846793005u + 1442695040888963407u;
      block.push_back({x >> 33 & 1023, 1u << (x >> 50 & 3), (x >> 60) == 0});
    }
  return blocks;
}

TEST(Caches, TheTurnDecidesNotTheArrival) {
  const std::vector<Requests> blocks = pseudorandom_blocks(61);
  const Device device = small_device(3);
  const CacheCounts forward = played(device, blocks, 4);
  EXPECT_GT(forward.l1_load_hits, 0u);
  EXPECT_GT(forward.dram_written_sectors, 0u);

  CacheModel reverse(device, blocks.size(), 4, 0);
  for (std::size_t i = blocks.size(); i-- > 0;) reverse.add_block(i, stream(blocks[i]));
  EXPECT_TRUE(reverse.finish() == forward);

  CacheModel shared(device, blocks.size(), 4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::size_t i = t; i < blocks.size(); i += 4) shared.add_block(i, stream(blocks[i]));
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(shared.finish() == forward);

  std::vector<Requests> swapped = blocks;
  std::swap(swapped[0], swapped[1]);
  EXPECT_FALSE(played(device, swapped, 4) == forward);
}

TEST(Caches, ABoundOnMemoryCutsWavesByTheirTurns) {
  const Requests walk = lines(0, 64);  // 512 bytes
  const auto counts = [&](std::size_t buffered_bytes, std::vector<std::size_t> arrival) {
    CacheModel caches(small_device(4), arrival.size(), 1, 0, buffered_bytes);
    for (const std::size_t turn : arrival) caches.add_block(turn, stream(walk));
    return caches.finish();
  };
  EXPECT_EQ(counts(8 * kKiB, {0, 1, 2, 3}).l2_load_hits, 3u * 64 * 4);
  // Cut after two blocks, which exceed 1000 bytes: the third brings all of it again.
  EXPECT_EQ(counts(2000, {0, 1, 2, 3}).l2_load_hits, 2u * 64 * 4);
  EXPECT_EQ(counts(2000, {1, 0, 3, 2}).l2_load_hits, 2u * 64 * 4);
  EXPECT_EQ(counts(0, {3, 1, 2, 0}).l2_load_hits, 0u);
  EXPECT_EQ(counts(0, {3, 1, 2, 0}).l1_load_sectors, 4u * 64 * 4);
}

TEST(Caches, ABoundOnMemoryDoesNotWaitForAnEarlierTurn) {
  const Requests walk = lines(0, 64), other = lines(100, 164);
  CacheModel caches(small_device(4), 4, 1, 0, 2000);
  caches.add_block(1, stream(walk));
  caches.add_block(3, stream(walk));  // exceeds 1000 bytes: the two are played together
  EXPECT_THROW(caches.add_block(3, {}), Error);
  caches.add_block(2, stream(other));
  caches.add_block(0, stream(other));
  EXPECT_EQ(caches.finish().l2_load_hits, 2u * 64 * 4);
}

TEST(Caches, NoBlocksAndBlocksWithoutRequests) {
  EXPECT_TRUE(played(small_device(2), {}) == CacheCounts());
  EXPECT_TRUE(played(small_device(2), {{}}) == CacheCounts());
  EXPECT_TRUE(played(small_device(2), {{}, {}, {}, {}, {}}) == CacheCounts());
  EXPECT_EQ(CacheCounts().l1_hit_rate(), 0.0);
  EXPECT_EQ(CacheCounts().l2_hit_rate(), 0.0);
  EXPECT_EQ(played(small_device(2), {{{0, 1}}}).dram_read_sectors, 2u);
  EXPECT_EQ(played(small_device(2), {{{0, 1}, {(std::uint64_t{1} << 56) - 1, 1}}}).dram_read_sectors, 4u);
}

TEST(Caches, CountsAddUp) {
  CacheCounts sum{1, 2, 3, 4, 5, 6, 7, 8};
  sum += {10, 20, 30, 40, 50, 60, 70, 80};
  EXPECT_TRUE(sum == (CacheCounts{11, 22, 33, 44, 55, 66, 77, 88}));
}

TEST(Caches, BlocksThatAreMissingTwiceThereOrUnknownAreRefused) {
  CacheModel caches(small_device(2), 3, 1, 0);
  EXPECT_THROW(caches.add_block(3, {}), Error);
  EXPECT_THROW(caches.finish(), Error);
  caches.add_block(0, {});
  EXPECT_THROW(caches.add_block(0, {}), Error);
  caches.add_block(2, {});
  EXPECT_THROW(caches.add_block(2, {}), Error);
  EXPECT_THROW(caches.finish(), Error);
  caches.add_block(1, {});
  EXPECT_NO_THROW(caches.finish());
}

// ---- Devices ----

TEST(Caches, TheL1IsWhatTheCarveOutLeaves) {
  const auto kib = [](const char* device, int blocks, std::size_t shared_kib) {
    return l1_bytes(find_device(device), blocks, shared_kib * kKiB) / kKiB;
  };
  EXPECT_EQ(kib("V100", 1, 0), 128u);
  EXPECT_EQ(kib("V100", 1, 96), 32u);
  EXPECT_EQ(kib("V100", 32, 1), 96u);
  EXPECT_EQ(kib("T4", 1, 0), 64u);
  EXPECT_EQ(kib("T4", 2, 32), 32u);
  EXPECT_EQ(kib("A100", 1, 0), 184u);  // CUDA takes 1 KiB in each block from here on
  EXPECT_EQ(kib("A100", 1, 163), 28u);
  EXPECT_EQ(kib("RTX 3080", 1, 0), 120u);
  EXPECT_EQ(kib("RTX 4090", 1, 99), 28u);
  EXPECT_EQ(kib("RTX 5090", 1, 8), 112u);
  EXPECT_EQ(kib("B200", 1, 0), 248u);
  // As an H200 has it (launch__shared_mem_config_size of blocks of 1024 threads).
  EXPECT_EQ(kib("H200", 2, 0), 248u);
  EXPECT_EQ(kib("H200", 2, 1), 248u);
  EXPECT_EQ(kib("H200", 2, 4), 240u);
  EXPECT_EQ(kib("H200", 2, 8), 224u);
  EXPECT_EQ(kib("H200", 2, 16), 192u);
  EXPECT_EQ(kib("H200", 2, 32), 156u);
  EXPECT_EQ(kib("H200", 8, 16), 92u);
  EXPECT_EQ(kib("H200", 4, 48), 60u);
  EXPECT_EQ(kib("H200", 2, 100), 28u);
}

TEST(Caches, EveryDeviceIsModelledOrRefused) {
  for (const Device& device : devices()) {
    if (device.major < 7 && device.l2_bytes > 0)
      EXPECT_THROW(CacheModel(device, 1, 1, 0), Error) << device.name;
    else
      EXPECT_NO_THROW(CacheModel(device, 1, 1, 0)) << device.name;
  }
  const Device& h200 = find_device("H200");
  EXPECT_THROW(CacheModel(h200, 1, 0, 0), Error);
  EXPECT_THROW(CacheModel(h200, 1, -1, 0), Error);
  EXPECT_THROW(CacheModel(h200, 1, 1, 228 * kKiB), Error);
  EXPECT_THROW(CacheModel(h200, 1, 8, 48 * kKiB), Error);
  EXPECT_THROW(CacheModel(h200, 1, 1, ~std::size_t{0}), Error);
  EXPECT_THROW(CacheModel(small_device(1, kKiB), 1, 1, 0), Error);
  EXPECT_THROW(CacheModel(small_device(0), 1, 1, 0), Error);
  Device unknown = h200;
  unknown.minor = 7;
  EXPECT_THROW(CacheModel(unknown, 1, 1, 0), Error);
}

// ---- Devices without caches ----

/// The sectors that 32 lanes read from DRAM, lane i at the word word_of(i), bytes each.
template <typename WordOf>
std::uint64_t fetched(const char* name, const WordOf& word_of, int bytes = 4, int first = 0, int last = 32) {
  const Device& device = find_device(name);
  HalfWarps lanes;
  for (int lane = first; lane < last; ++lane) lanes.set(lane, word_of(lane));
  RequestStream requests;
  lanes.add_to(requests, bytes, false, device);
  CacheModel caches(device, 1, 1, 0);
  caches.add_block(0, std::move(requests));
  const CacheCounts n = caches.finish();
  EXPECT_EQ(n.l2_load_sectors + n.l1_load_sectors + n.dram_written_sectors, 0u);
  return n.dram_read_sectors;
}

TEST(Caches, WithoutAnyEachHalfWarpReadsItsOwn) {
  const auto in_order = [](int lane) { return 64 + lane; };
  const auto one_word = [](int) { return 70; };
  const auto shifted = [](int lane) { return 65 + lane; };
  const auto rows = [](int lane) { return 4096 * lane; };
  const auto swapped = [](int lane) { return 64 + (lane ^ 1); };
  EXPECT_EQ(fetched("G80", in_order), 4u);  // two segments of 64 bytes
  EXPECT_EQ(fetched("G80", in_order, 4, 3, 5), 2u);
  EXPECT_EQ(fetched("G80", one_word), 32u);
  EXPECT_EQ(fetched("G80", shifted), 32u);
  EXPECT_EQ(fetched("G80", swapped), 32u);
  EXPECT_EQ(fetched("G80", rows), 32u);
  EXPECT_EQ(fetched(
                "G80", [](int lane) { return 128 + 2 * lane; }, 8),
            8u);
  EXPECT_EQ(fetched(
                "G80", [](int lane) { return 128 + 4 * lane; }, 16),
            16u);
  EXPECT_EQ(fetched("GT200", in_order), 4u);
  EXPECT_EQ(fetched("GT200", swapped), 4u);
  EXPECT_EQ(fetched("GT200", one_word), 2u);
  EXPECT_EQ(fetched("GT200", shifted), 4u + 2u + 1u);  // 128 bytes; the next 64 and, in another line, 32
  EXPECT_EQ(fetched("GT200", rows), 32u);
}

TEST(Caches, ALoadPastTheL1FindsNothingThereAndLeavesNothing) {
  RequestStream requests;
  for (const bool is_past_l1 : {true, false, true, false}) requests.add(7, kAll, false, is_past_l1);
  CacheModel caches(small_device(1), 1, 1, 0);
  caches.add_block(0, std::move(requests));
  const CacheCounts n = caches.finish();
  EXPECT_EQ(n.l1_load_lines, 4u);
  EXPECT_EQ(n.l1_load_sectors, 16u);
  EXPECT_EQ(n.l1_load_hits, 4u);  // of the last request alone
  EXPECT_EQ(n.l2_load_sectors, 12u);
  EXPECT_EQ(n.dram_read_sectors, 4u);
}

TEST(Caches, ResidentBlocksByThreadsAndSharedMemory) {
  const Device& h200 = find_device("H200");
  EXPECT_EQ(resident_blocks(h200, {.block = {16, 16, 1}}, 2048), 8);
  EXPECT_EQ(resident_blocks(h200, {.block = {1, 1, 1}}, 0), 32);
  EXPECT_EQ(resident_blocks(h200, {.block = {256, 1, 1}, .dynamic_shared_bytes = 16 * kKiB}, 16 * kKiB), 6);
  EXPECT_THROW(resident_blocks(h200, {.block = {1025, 1, 1}}, 0), Error);
  EXPECT_THROW(resident_blocks(h200, {.block = {0, 1, 1}}, 0), Error);
  EXPECT_THROW(resident_blocks(h200, {.block = {32, 1, 1}, .dynamic_shared_bytes = 228 * kKiB}, 0), Error);
}

}  // namespace
}  // namespace rung
