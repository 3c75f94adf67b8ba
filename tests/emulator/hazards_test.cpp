/// The hazard checks, called with accesses and barriers directly: each kind is found in both orders of execution, and
/// the ordered variant has no findings.
#include "common/emulator/hazards.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <thread>

namespace rung {
namespace {

// The checker never looks at the memory itself: these are addresses and nothing else.
constexpr std::uintptr_t kShared = 0x10000, kDynamic = 0x20000, kGlobal = 0x100000, kFlag = 0x900000;
constexpr unsigned kThreads = 70;  // the last of the three warps has 6 lanes

/// A launch and one OS thread that runs its blocks. By default, each access has a site of its own.
class Hazards : public testing::Test {
 protected:
  Hazards() {
    grid_.add_buffer(kFlag, 64, nullptr);
    grid_.add_buffer(kGlobal, 1 << 16, nullptr);
    block_.begin_launch(grid_, {kShared, 4096}, {kDynamic, 1000}, kThreads);
    block_.begin_block(0);
  }

  static CheckedAccess at(std::uintptr_t address, bool is_store, unsigned bytes = 4) {
    return {.address = address, .bytes = bytes, .is_store = is_store, .is_shared = address < kGlobal};
  }
  void access(unsigned thread, CheckedAccess access) {
    access.site = ++site_;
    block_.access(thread, access);
  }
  void load(unsigned thread, std::uintptr_t address, unsigned bytes = 4) { access(thread, at(address, false, bytes)); }
  void store(unsigned thread, std::uintptr_t address, unsigned bytes = 4) { access(thread, at(address, true, bytes)); }
  void atomic(unsigned thread, std::uintptr_t address, unsigned bytes = 4) {
    CheckedAccess a = at(address, true, bytes);
    a.is_atomic = true;
    access(thread, a);
  }
  void volatile_access(unsigned thread, std::uintptr_t address, bool is_store) {
    CheckedAccess a = at(address, is_store);
    a.is_volatile = true;
    access(thread, a);
  }
  void copy(unsigned thread, std::uintptr_t address, unsigned bytes = 4) {
    CheckedAccess a = at(address, true, bytes);
    a.is_async = true;
    access(thread, a);
  }

  /// The kinds of all that was found since the last call, in the order of discovery.
  std::vector<FindingKind> kinds() {
    std::vector<FindingKind> kinds;
    for (const Hazard& hazard : grid_.take()) kinds.push_back(hazard.kind);
    return kinds;
  }
  using Kinds = std::vector<FindingKind>;
  const Kinds kNone;
  const Kinds kReadAfterWrite{finding_kind::read_after_write}, kWriteAfterRead{finding_kind::write_after_read},
      kWriteAfterWrite{finding_kind::write_after_write}, kBetweenBlocks{finding_kind::race_between_blocks},
      kUninitializedShared{finding_kind::uninitialized_shared}, kUnfinishedCopy{finding_kind::unfinished_copy};

  GridHazards grid_{8};
  BlockHazards block_;
  std::uintptr_t site_ = 0;
};

/// All that holds for one block holds in shared and in global memory.
class HazardsInABlock : public Hazards, public testing::WithParamInterface<std::uintptr_t> {
 protected:
  /// Memory that thread 0 has initialised.
  HazardsInABlock() {
    for (unsigned i = 0; i < 16; ++i) store(0, here + 4 * i);
    block_.block_barrier();
  }
  const std::uintptr_t here = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Memory, HazardsInABlock, testing::Values(kShared, kDynamic, kGlobal));

TEST_P(HazardsInABlock, AReadAfterAWriteNeedsABarrier) {
  store(1, here);
  load(1, here);
  EXPECT_EQ(kinds(), kNone) << "one thread";
  load(2, here);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "of the same warp: it need not run in step";
  load(40, here);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "of another warp";
  block_.block_barrier();
  load(2, here);
  load(40, here);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, AWriteAfterAReadNeedsABarrier) {
  load(2, here);
  store(2, here + 4);
  store(2, here);
  EXPECT_EQ(kinds(), kNone) << "one thread, and another element";
  load(2, here + 8);
  store(1, here + 8);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  load(40, here + 12);
  store(1, here + 12);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  load(40, here + 16);
  block_.block_barrier();
  store(1, here + 16);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, TwoWritersNeedABarrier) {
  store(1, here);
  store(1, here);
  EXPECT_EQ(kinds(), kNone);
  store(69, here);
  EXPECT_EQ(kinds(), kWriteAfterWrite);
  block_.block_barrier();
  store(3, here);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, AWriterThatIsAReaderItselfRacesWithTheOtherReaders) {
  for (const unsigned other : {0u, 2u, 33u}) {
    for (const bool own_first : {true, false}) {
      load(own_first ? 1 : other, here);
      load(own_first ? other : 1, here);
      store(1, here);
      EXPECT_EQ(kinds(), kWriteAfterRead) << other;
      block_.block_barrier();
    }
  }
}

TEST_P(HazardsInABlock, AReaderOfAnotherWarpIsNotForgotten) {
  for (unsigned thread = 0; thread < 40; ++thread) load(thread, here);
  block_.warp_barrier(0, ~0u);
  store(0, here);
  EXPECT_EQ(kinds(), kWriteAfterRead) << "with a thread of warp 1, which has not waited";
}

TEST_P(HazardsInABlock, AWarpBarrierOrdersItsLanesOnly) {
  store(1, here);
  block_.warp_barrier(0, 0b0110);
  load(2, here);
  EXPECT_EQ(kinds(), kNone);
  load(3, here);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "not a lane of the mask";
  load(33, here);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "not of the warp";

  store(5, here + 4);
  block_.warp_barrier(1, ~0u);
  load(6, here + 4);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "another warp's barrier";

  store(7, here + 8);
  block_.warp_barrier(0, 0);
  block_.warp_barrier(0, 1u << 8);
  load(8, here + 8);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "the writer was not there";
}

TEST_P(HazardsInABlock, WhatFollowsAWarpBarrierIsNotOrderedByIt) {
  block_.warp_barrier(0, ~0u);
  store(1, here);
  load(2, here);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  load(5, here + 4);
  store(6, here + 4);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  load(7, here + 8);
  block_.warp_barrier(0, ~0u);
  store(8, here + 8);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, WarpBarriersOrderTransitively) {
  store(1, here);
  block_.warp_barrier(0, 0b00110);
  block_.warp_barrier(0, 0b01100);
  block_.warp_barrier(0, 0b11000);
  load(4, here);
  EXPECT_EQ(kinds(), kNone);

  store(10, here + 4);
  block_.warp_barrier(0, 0b11u << 11);  // 11 and 12 meet before 10 and 11 do
  block_.warp_barrier(0, 0b11u << 10);
  load(12, here + 4);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_P(HazardsInABlock, TheWarpThatIsNotFullHasItsBarriers) {
  store(64, here);
  block_.warp_barrier(2, ~0u);
  load(69, here);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, NeighboursInAWordAreDifferentElements) {
  for (unsigned i = 0; i < 4; ++i) store(i, here + i, 1);
  store(4, here + 4, 2);
  store(5, here + 6, 2);
  EXPECT_EQ(kinds(), kNone);
  for (unsigned i = 0; i < 4; ++i) load(i, here + i, 1);
  EXPECT_EQ(kinds(), kNone);
  for (unsigned i = 0; i < 4; ++i) {
    load(9, here + i, 1);
    EXPECT_EQ(kinds(), kReadAfterWrite) << i;
  }
  load(4, here + 6, 2);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  store(5, here + 5, 1);
  EXPECT_EQ(kinds(), kWriteAfterWrite) << "the upper byte of thread 4's two";
}

TEST_P(HazardsInABlock, AWordAndItsBytesOverlap) {
  store(1, here);
  load(2, here + 3, 1);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "what was known of the word holds for its bytes";
  store(3, here + 5, 1);
  load(4, here + 4);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  load(5, here + 10, 2);
  store(6, here + 8);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  block_.block_barrier();
  store(7, here);
  block_.block_barrier();
  load(8, here + 1, 1);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, WideAccessesOverlapNarrowOnes) {
  store(1, here, 16);
  for (unsigned i = 0; i < 4; ++i) {
    load(2, here + 4 * i);
    EXPECT_EQ(kinds(), kReadAfterWrite) << i;
  }
  load(2, here + 16);
  EXPECT_EQ(kinds(), kNone);
  store(3, here + 24);
  load(4, here + 16, 8);
  EXPECT_EQ(kinds(), kNone);
  load(4, here + 16, 16);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  block_.block_barrier();
  load(5, here, 16);
  store(6, here, 16);
  const auto found = grid_.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].occurrences, 1u) << "four words, but one access";
  EXPECT_EQ(found[0].address, here);
  EXPECT_EQ(found[0].bytes, 16u);
}

TEST_P(HazardsInABlock, AtomicsRaceWithPlainAccessesOnly) {
  for (unsigned thread = 0; thread < kThreads; ++thread) atomic(thread, here);
  EXPECT_EQ(kinds(), kNone);
  load(0, here);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "thread 0 took part, but so did others";
  block_.block_barrier();
  for (unsigned thread = 0; thread < kThreads; ++thread) load(thread, here);
  EXPECT_EQ(kinds(), kNone);
  store(0, here);
  EXPECT_EQ(kinds(), kWriteAfterRead) << "the counter is reset while others read it";

  store(1, here + 4);
  atomic(2, here + 4);
  EXPECT_EQ(kinds(), kWriteAfterWrite);
  atomic(1, here + 8);
  store(2, here + 8);
  EXPECT_EQ(kinds(), kWriteAfterWrite);
  load(1, here + 12);
  atomic(2, here + 12);
  EXPECT_EQ(kinds(), kWriteAfterRead);
}

TEST_P(HazardsInABlock, AtomicsAfterReadsOfAnEarlierIntervalAreRemembered) {
  load(1, here);
  load(40, here);
  block_.block_barrier();
  atomic(3, here);
  atomic(50, here);
  EXPECT_EQ(kinds(), kNone);
  load(50, here);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_P(HazardsInABlock, VolatileAccessesAreNoRacesAmongThemselves) {
  volatile_access(1, here, true);
  volatile_access(2, here, false);
  atomic(3, here);
  volatile_access(4, here, true);
  EXPECT_EQ(kinds(), kNone);
  volatile_access(1, here + 4, true);
  load(2, here + 4);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  load(2, here + 8);
  volatile_access(1, here + 8, true);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  load(2, here + 12);
  volatile_access(1, here + 12, false);
  EXPECT_EQ(kinds(), kNone) << "two loads";
}

TEST_P(HazardsInABlock, ACopyIsWaitedForAndThenOrdered) {
  copy(1, here);
  load(1, here);
  EXPECT_EQ(kinds(), kUnfinishedCopy) << "by the thread that started it";
  block_.block_barrier();
  load(40, here);
  EXPECT_EQ(kinds(), kUnfinishedCopy) << "a barrier does not wait for copies";
  store(1, here);
  EXPECT_EQ(kinds().at(0), finding_kind::write_after_write) << "it may still write";

  copy(2, here + 4, 8);
  block_.copies_arrived(2, 0);
  load(2, here + 4, 8);
  EXPECT_EQ(kinds(), kNone);
  load(3, here + 8);
  EXPECT_EQ(kinds(), kReadAfterWrite) << "arrived, for others from the next barrier on";
  block_.block_barrier();
  load(3, here + 8);
  EXPECT_EQ(kinds(), kNone);
}

TEST_P(HazardsInABlock, CopiesArriveInTheirOrder) {
  for (unsigned i = 0; i < 3; ++i) copy(1, here + 4 * i);
  copy(2, here + 12);
  block_.copies_arrived(1, 5);
  block_.copies_arrived(1, 1);
  load(1, here);
  load(1, here + 4);
  EXPECT_EQ(kinds(), kNone);
  load(1, here + 8);
  EXPECT_EQ(kinds(), kUnfinishedCopy);
  block_.copies_arrived(1, 0);
  block_.copies_arrived(1, 0);
  load(1, here + 8);
  EXPECT_EQ(kinds(), kNone);
  load(1, here + 12);
  EXPECT_EQ(kinds(), kUnfinishedCopy) << "another thread's";
}

TEST_P(HazardsInABlock, ABarrierBeforeTheArrivalIsTooEarly) {
  copy(1, here);
  block_.block_barrier();
  block_.copies_arrived(1, 0);
  load(2, here);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_P(HazardsInABlock, ACopyIsAStoreAsAnyOther) {
  load(1, here);
  copy(2, here);
  EXPECT_EQ(kinds(), kWriteAfterRead);
  copy(3, here + 4, 16);
  copy(4, here + 8);
  EXPECT_EQ(kinds(), kWriteAfterWrite);
}

TEST_P(HazardsInABlock, AFindingHasBothSidesAndIsMerged) {
  for (int i = 0; i < 3; ++i) {
    CheckedAccess write = at(here + 4 * i, true), read = at(here + 4 * i, false);
    write.site = 0x400100;
    read.site = 0x400200;
    block_.access(40, write);
    block_.access(i, read);
  }
  const auto found = grid_.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::read_after_write);
  EXPECT_EQ(found[0].is_shared, here < kGlobal);
  EXPECT_EQ(found[0].address, here);
  EXPECT_EQ(found[0].occurrences, 3u);
  EXPECT_EQ(found[0].first.thread, 40u);
  EXPECT_EQ(found[0].first.site, 0x400100u);
  EXPECT_TRUE(found[0].first.is_store);
  EXPECT_EQ(found[0].second.thread, 0u);
  EXPECT_EQ(found[0].second.site, 0x400200u);
  EXPECT_FALSE(found[0].second.is_store);
  EXPECT_TRUE(found[0].first.actor == Actor::thread && found[0].second.actor == Actor::thread);
  EXPECT_EQ(grid_.take().size(), 0u) << "forgotten";
  CheckedAccess write = at(here + 20, true);
  write.site = 0x400100;
  write.is_atomic = true;
  block_.access(1, write);
  load(2, here + 20);
  const auto next = grid_.take();
  ASSERT_EQ(next.size(), 1u);
  EXPECT_EQ(next[0].first.actor, Actor::atomic);
}

// ---- Uninitialised memory ----

TEST_F(Hazards, SharedMemoryBeginsUninitialised) {
  load(1, kShared);
  EXPECT_EQ(kinds(), kUninitializedShared);
  atomic(1, kShared + 4);
  EXPECT_EQ(kinds(), kUninitializedShared) << "an atomic reads, too";
  load(1, kShared + 4);
  EXPECT_EQ(kinds(), kNone) << "which it then has written";
  store(1, kShared + 8, 8);
  load(1, kShared + 8, 16);
  EXPECT_EQ(kinds(), kUninitializedShared) << "half of it";
  store(1, kShared + 101, 1);
  load(1, kShared + 101, 1);
  EXPECT_EQ(kinds(), kNone);
  load(1, kShared + 100, 1);
  EXPECT_EQ(kinds(), kUninitializedShared) << "the adjacent byte";
  load(1, kDynamic + 996);
  const auto found = grid_.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first.site, 0u);
  EXPECT_EQ(found[0].second.thread, 1u);
  EXPECT_EQ(found[0].address, kDynamic + 996);
}

TEST_F(Hazards, AnAtomicOnlyWordCountsAsWrittenFromThenOn) {
  volatile_access(1, kShared, true);
  block_.block_barrier();
  for (unsigned thread = 0; thread < kThreads; ++thread) load(thread, kShared);
  block_.block_barrier();
  for (unsigned thread = 0; thread < kThreads; ++thread) load(thread, kShared);
  EXPECT_EQ(kinds(), kNone);
}

TEST_F(Hazards, GlobalMemoryHasItsFlags) {
  constexpr std::uintptr_t begin = 0xA00001;  // buffers need not begin at a word
  std::vector<std::uint8_t> written(99, 0);
  written[3] = written[4] = written[5] = written[6] = 7;
  GridHazards grid(1);
  grid.add_buffer(begin, written.size(), written.data());
  block_.begin_launch(grid, {}, {}, 2);
  block_.begin_block(0);
  load(0, begin + 3);
  EXPECT_EQ(grid.take().size(), 0u);
  load(0, begin + 7);
  ASSERT_EQ(grid.take().at(0).kind, finding_kind::uninitialized_global);
  load(0, begin + 4);
  EXPECT_EQ(grid.take().size(), 1u) << "three of its four bytes were written";
  store(0, begin + 7);
  load(0, begin + 4);
  EXPECT_EQ(grid.take().size(), 0u);
  EXPECT_EQ(written[10], 1);
  EXPECT_EQ(written[11], 0);
  atomic(0, begin + 15);
  EXPECT_EQ(grid.take().size(), 1u);
  EXPECT_EQ(written[15], 1);
  store(0, begin + 97, 16);  // ends behind the buffer
  EXPECT_EQ(written[98], 1);
}

TEST_F(Hazards, AFreshBlockKnowsNothingOfTheLastOne) {
  for (std::uint32_t block = 0; block < 8; ++block) {
    block_.begin_block(block);
    load(2, kShared);
    EXPECT_EQ(kinds(), kUninitializedShared) << block;
    store(1, kShared);
    EXPECT_EQ(kinds(), kWriteAfterRead);
    copy(1, kShared + 4);
  }
}

TEST_F(Hazards, AFreshBlockHasHeardNothing) {
  for (int i = 0; i < 9; ++i) block_.warp_barrier(0, ~0u);
  block_.begin_block(1);
  store(1, kShared);
  load(2, kShared);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_F(Hazards, AFreshBlockHasFencedNothing) {
  for (int i = 0; i < 9; ++i) block_.block_barrier();
  store(1, kGlobal);
  block_.fence(0, false);
  block_.block_barrier();
  block_.begin_block(1);
  store(1, kGlobal + 4);
  block_.fence(0, false);
  atomic(0, kFlag);
  block_.begin_block(2);
  atomic(0, kFlag);
  load(0, kGlobal + 4);
  EXPECT_EQ(kinds(), kBetweenBlocks);
}

TEST_F(Hazards, ThousandsOfBlocksAreToldApart) {
  constexpr std::uint32_t blocks = 100'000;
  GridHazards grid(blocks);
  block_.begin_launch(grid, {kShared, 4096}, {}, 64);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    block_.begin_block(block);
    const std::uintptr_t address = kShared + 4 * (block % 1000);
    store(block % 64, address);
    load(block % 64, address);
    block_.block_barrier();
    store((block + 1) % 64, address);
    block_.block_barrier();
    block_.warp_barrier(0, ~0u);
    load((block + 33) % 64, address);
  }
  EXPECT_EQ(grid.take().size(), 0u);
  block_.begin_block(7);
  load(1, kShared + 4 * ((blocks - 1) % 1000));
  EXPECT_EQ(grid.take().size(), 1u);
}

TEST_F(Hazards, TimeThatHasRunOutInventsNothing) {
  GridHazards grid((std::uint64_t{1} << 31) - 1);  // 6 bits of time are left
  grid.add_buffer(kGlobal, 64, nullptr);
  block_.begin_launch(grid, {}, {}, 64);
  for (const std::uint32_t block : {0u, 2147483646u}) {
    block_.begin_block(block);
    for (unsigned i = 0; i < 100; ++i) {
      store(i % 64, kGlobal + 4 * (block % 2));
      block_.block_barrier();
    }
    EXPECT_EQ(grid.take().size(), block == 0 ? 0u : 1u) << "the first store races with block 0's";
  }
}

// ---- Between blocks ----

TEST_F(Hazards, BlocksRaceWhereOneOfThemWrites) {
  for (const bool writer_first : {true, false}) {
    const std::uintptr_t here = kGlobal + 64 * writer_first;
    block_.begin_block(0);
    access(1, at(here, writer_first));
    block_.block_barrier();
    block_.begin_block(1);
    block_.block_barrier();
    access(1, at(here, !writer_first));
    EXPECT_EQ(kinds(), kBetweenBlocks);
  }
  block_.begin_block(2);
  store(1, kGlobal + 4);
  block_.begin_block(3);
  store(1, kGlobal + 4);
  const auto found = grid_.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::race_between_blocks);
  EXPECT_EQ(found[0].first.block, 2u);
  EXPECT_EQ(found[0].second.block, 3u);
}

TEST_F(Hazards, ReadsAndAtomicsOfAllBlocksAreNoRace) {
  for (std::uint32_t block = 0; block < 8; ++block) {
    block_.begin_block(block);
    for (unsigned thread = 0; thread < kThreads; ++thread) {
      load(thread, kGlobal);
      atomic(thread, kGlobal + 4);
      volatile_access(thread, kGlobal + 4, block % 2 == 0);
      store(thread, kGlobal + 4 * (10 + block * kThreads + thread));
    }
  }
  EXPECT_EQ(kinds(), kNone);
  store(1, kGlobal);
  EXPECT_EQ(kinds().at(0), finding_kind::race_between_blocks) << "others have read it";
  load(1, kGlobal + 4);
  EXPECT_EQ(kinds().at(0), finding_kind::race_between_blocks) << "others' atomics";
}

TEST_F(Hazards, AnInitialisationByOneBlockRacesWithTheOthersAtomics) {
  store(0, kGlobal);
  block_.block_barrier();
  atomic(1, kGlobal);
  EXPECT_EQ(kinds(), kNone);
  block_.begin_block(1);
  atomic(1, kGlobal);
  EXPECT_EQ(kinds(), kBetweenBlocks);
}

TEST_F(Hazards, AnInitialisationIsNotForgottenBehindAtomics) {
  store(0, kGlobal);
  block_.block_barrier();
  atomic(1, kGlobal);
  block_.block_barrier();
  volatile_access(2, kGlobal, false);
  block_.begin_block(1);
  atomic(1, kGlobal);
  EXPECT_EQ(kinds(), kBetweenBlocks);
}

TEST_F(Hazards, ManyReadersOfABlockLeaveRoomForAnotherBlocks) {
  for (unsigned thread = 0; thread < kThreads; ++thread) load(thread, kGlobal);
  block_.begin_block(1);
  load(0, kGlobal);
  EXPECT_EQ(kinds(), kNone);
  load(1, kGlobal + 4);
  load(2, kGlobal + 4);
  block_.block_barrier();
  load(3, kGlobal + 4);
  store(4, kGlobal + 4);
  EXPECT_EQ(kinds(), kWriteAfterRead) << "the readers before the barrier gave way";
  block_.begin_block(0);
  load(0, kGlobal + 8);
  load(1, kGlobal + 8);
  block_.begin_block(1);
  load(0, kGlobal + 8);
  block_.begin_block(0);
  store(0, kGlobal + 8);
  const auto found = grid_.take();
  EXPECT_EQ(std::count_if(found.begin(), found.end(), [](const Hazard& h) { return h.first.block == 1; }), 1);
}

TEST_F(Hazards, BytesOfAWordMayBelongToDifferentBlocks) {
  for (std::uint32_t block = 0; block < 4; ++block) {
    block_.begin_block(block);
    store(0, kGlobal + block, 1);
  }
  EXPECT_EQ(kinds(), kNone);
  load(0, kGlobal);
  EXPECT_EQ(kinds().size(), 3u) << "the other three blocks' bytes";
}

/// "The last block sums": each block writes a partial sum and counts itself; the last one reads all of them.
class LastBlock : public Hazards {
 protected:
  enum class Fence { by_the_writer, by_all_before_the_barrier, none, of_block, after_the_count, by_another };
  Kinds sum(Fence fence, bool polls = false) {
    constexpr std::uint32_t blocks = 8;
    for (std::uint32_t block = 0; block < blocks; ++block) {
      block_.begin_block(block);
      const bool together = fence == Fence::by_all_before_the_barrier || fence == Fence::by_another;
      for (unsigned thread = 0; thread < (together ? kThreads : 1); ++thread) {
        store(thread, kGlobal + 4 * (block * kThreads + thread));
        if (fence == Fence::by_all_before_the_barrier || (fence == Fence::by_another && thread != 5))
          block_.fence(thread, false);
      }
      if (together) block_.block_barrier();
      if (fence == Fence::by_the_writer) block_.fence(0, false);
      if (fence == Fence::of_block) block_.fence(0, true);
      atomic(0, kFlag);
      if (fence == Fence::after_the_count) block_.fence(0, false);
      if (polls)
        for (int i = 0; i < 3; ++i) volatile_access(0, kFlag, false);
      if (!together) store(0, kShared);
      block_.block_barrier();
      if (!together) load(60, kShared);
    }
    for (unsigned i = 0; i < blocks * kThreads; ++i) load(i % kThreads, kGlobal + 4 * i);
    return kinds();
  }
};

TEST_F(LastBlock, IsRightWithTheFence) {
  EXPECT_EQ(sum(Fence::by_the_writer), kNone);
  store(0, kFlag);
  EXPECT_EQ(kinds(), kNone) << "the counter may be reset: all have counted";
}
TEST_F(LastBlock, IsRightIfItPolls) { EXPECT_EQ(sum(Fence::by_the_writer, true), kNone); }
TEST_F(LastBlock, IsRightIfEachThreadFencesWhatItWrote) { EXPECT_EQ(sum(Fence::by_all_before_the_barrier), kNone); }
TEST_F(LastBlock, IsWrongWithoutTheFence) {
  const Kinds found = sum(Fence::none);
  EXPECT_EQ(found, Kinds(7, finding_kind::race_between_blocks)) << "the seven other blocks' sums";
}
TEST_F(LastBlock, IsWrongWithAFenceOfTheBlock) { EXPECT_EQ(sum(Fence::of_block).size(), 7u); }
TEST_F(LastBlock, IsWrongWithTheFenceAfterTheCount) { EXPECT_EQ(sum(Fence::after_the_count).size(), 7u); }
TEST_F(LastBlock, IsWrongIfOneThreadDoesNotFenceWhatItWrote) { EXPECT_EQ(sum(Fence::by_another).size(), 7u); }

TEST_F(Hazards, AFenceCoversWhatTheBlockDidBeforeTheBarrier) {
  store(40, kGlobal);
  store(1, kGlobal + 4);
  block_.block_barrier();
  store(2, kGlobal + 8);
  block_.fence(3, false);
  volatile_access(3, kFlag, true);
  store(3, kGlobal + 12);

  block_.begin_block(1);
  volatile_access(50, kFlag, false);
  load(50, kGlobal);
  load(50, kGlobal + 4);
  EXPECT_EQ(kinds(), kNone);
  load(50, kGlobal + 8);
  EXPECT_EQ(kinds(), kBetweenBlocks) << "another thread, no barrier before the fence";
  load(50, kGlobal + 12);
  EXPECT_EQ(kinds(), kBetweenBlocks) << "after the fence";
  load(51, kGlobal + 4);
  EXPECT_EQ(kinds(), kBetweenBlocks) << "a thread that has not looked at the flag";
  block_.block_barrier();
  load(51, kGlobal + 4);
  EXPECT_EQ(kinds(), kNone) << "and now it need not";
  store(51, kGlobal);
  EXPECT_EQ(kinds(), kNone) << "nor is a write one too early";
}

TEST_F(Hazards, AFenceOfAnotherLaneIsNoneBeforeTheWarpsBarrier) {
  for (const bool met : {false, true}) {
    const unsigned block = met ? 2 : 0;
    block_.begin_block(block);
    store(1, kGlobal + 4 * block);
    block_.fence(1, false);
    block_.fence(0, false);
    if (met) block_.warp_barrier(0, 0b11);
    atomic(0, kFlag + 4 * block);
    block_.begin_block(block + 1);
    atomic(0, kFlag + 4 * block);
    load(0, kGlobal + 4 * block);
    EXPECT_EQ(kinds(), met ? kNone : kBetweenBlocks);
  }
}

TEST_F(Hazards, AFenceCoversWhatTheWarpDidBeforeItsBarrier) {
  store(1, kGlobal);
  store(2, kGlobal + 4);
  block_.warp_barrier(0, 0b0011);
  block_.fence(0, false);
  atomic(0, kFlag);
  block_.begin_block(1);
  atomic(7, kFlag);
  block_.warp_barrier(0, 0b11u << 7);
  load(8, kGlobal);
  EXPECT_EQ(kinds(), kNone) << "lane 8 met lane 7, which has acquired";
  load(8, kGlobal + 4);
  EXPECT_EQ(kinds(), kBetweenBlocks) << "lane 2 was not in the mask";
  load(9, kGlobal);
  EXPECT_EQ(kinds(), kBetweenBlocks) << "lane 9 neither";
}

TEST_F(Hazards, ALoadBeforeTheReleaseAcquiresNothing) {
  GridHazards grid(2);
  grid.add_buffer(kFlag, 8, nullptr);
  grid.add_buffer(kGlobal, 64, nullptr);
  BlockHazards writer, reader;
  writer.begin_launch(grid, {}, {}, 1);
  reader.begin_launch(grid, {}, {}, 1);
  writer.begin_block(0);
  reader.begin_block(1);
  const auto give = [&](BlockHazards& block, CheckedAccess access, bool is_volatile) {
    access.is_volatile = is_volatile;
    access.site = ++site_;
    block.access(0, access);
  };
  give(writer, at(kGlobal, true), false);
  writer.fence(0, false);
  give(reader, at(kFlag, false), true);
  reader.block_barrier();  // the load has been made by now
  give(writer, at(kFlag, true), true);
  give(reader, at(kGlobal, false), false);
  EXPECT_EQ(grid.take().size(), 1u);
  give(reader, at(kFlag, false), true);
  give(reader, at(kGlobal, false), false);
  EXPECT_EQ(grid.take().size(), 0u);
}

TEST_F(Hazards, AReleaseAfterTheAcquireIsNotKnown) {
  GridHazards grid(2);
  grid.add_buffer(kFlag, 8, nullptr);
  grid.add_buffer(kGlobal, 64, nullptr);
  BlockHazards writer, reader;
  writer.begin_launch(grid, {}, {}, 1);
  reader.begin_launch(grid, {}, {}, 1);
  writer.begin_block(0);
  reader.begin_block(1);
  const CheckedAccess count{.address = kFlag, .bytes = 4, .is_store = true, .is_atomic = true, .site = 1};
  for (unsigned i = 0; i < 2; ++i) {
    writer.access(0, {.address = kGlobal + 4 * i, .bytes = 4, .is_store = true, .site = 2});
    writer.fence(0, false);
    writer.access(0, count);
    if (i > 0) break;
    reader.access(0, count);
    reader.fence(0, false);
  }
  reader.access(0, {.address = kGlobal, .bytes = 4, .site = 3});
  EXPECT_EQ(grid.take().size(), 0u);
  reader.access(0, {.address = kGlobal + 4, .bytes = 4, .site = 3});
  EXPECT_EQ(grid.take().size(), 1u);
}

TEST_F(Hazards, FlagsOfOtherAddressesAndPlainLoadsAcquireNothing) {
  store(0, kGlobal);
  block_.fence(0, false);
  atomic(0, kFlag);
  block_.begin_block(1);
  atomic(0, kFlag + 4);
  load(0, kGlobal);
  EXPECT_EQ(kinds(), kBetweenBlocks);
  load(0, kFlag);
  load(0, kGlobal);
  EXPECT_EQ(kinds().back(), finding_kind::race_between_blocks);
}

TEST_F(Hazards, AChainOfFlagsIsTransitive) {
  for (std::uint32_t block = 0; block < 8; ++block) {
    block_.begin_block(block);
    if (block > 0) volatile_access(0, kFlag + 4 * (block - 1), false);
    store(0, kGlobal + 4 * block);
    block_.fence(0, false);
    volatile_access(0, kFlag + 4 * block, true);
  }
  for (unsigned i = 0; i < 8; ++i) load(0, kGlobal + 4 * i);
  EXPECT_EQ(kinds(), kNone);
}

TEST_F(Hazards, ALockOrdersThreadsOfABlockAndOfBlocks) {
  const auto locked = [&](unsigned thread) {
    atomic(thread, kFlag);
    block_.fence(thread, false);
    load(thread, kGlobal);
    store(thread, kGlobal);
    block_.fence(thread, false);
    atomic(thread, kFlag);
  };
  for (std::uint32_t block = 0; block < 8; ++block) {
    block_.begin_block(block);
    for (const unsigned thread : {0u, 1u, 40u}) locked(thread);
  }
  EXPECT_EQ(kinds(), kNone);
  load(5, kGlobal);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_F(Hazards, ABarrierOfTheWholeGridOrdersAllBlocks) {
  std::array<BlockHazards, 4> blocks;
  GridHazards grid(blocks.size());
  grid.add_buffer(kFlag, 4, nullptr);
  grid.add_buffer(kGlobal, 1024, nullptr);
  for (unsigned b = 0; b < blocks.size(); ++b) {
    blocks[b].begin_launch(grid, {}, {}, 33);
    blocks[b].begin_block(b);
  }
  for (unsigned round = 0; round < 5; ++round) {
    for (unsigned b = 0; b < blocks.size(); ++b) {
      blocks[b].access(32, {.address = kGlobal + 4 * ((b + round) % 4), .bytes = 4, .is_store = true, .site = 1});
      blocks[b].block_barrier();
      blocks[b].fence(0, false);
      blocks[b].access(0, {.address = kFlag, .bytes = 4, .is_store = true, .is_atomic = true, .site = 2});
    }
    for (unsigned b = 0; b < blocks.size(); ++b) {
      blocks[b].access(0, {.address = kFlag, .bytes = 4, .is_volatile = true, .site = 3});
      blocks[b].block_barrier();
    }
  }
  EXPECT_EQ(grid.take().size(), 0u);
  blocks[0].access(0, {.address = kGlobal + 4 * 0, .bytes = 4, .is_store = true, .site = 1});
  blocks[1].access(0, {.address = kGlobal + 4 * 0, .bytes = 4, .site = 1});
  EXPECT_EQ(grid.take().size(), 1u) << "no barrier between these";
}

// ---- Several OS threads ----

TEST(HazardsOfManyThreads, FindTheSameRacesAndInventNone) {
  constexpr unsigned os_threads = 4, blocks = 400, threads = 64, words = blocks * threads;
  for (const bool racy : {false, true}) {
    GridHazards grid(blocks);
    std::vector<std::uint8_t> written(4 * words, 0);
    grid.add_buffer(kGlobal, 4 * words, written.data());
    grid.add_buffer(kFlag, 64, nullptr);
    std::vector<std::thread> workers;
    for (unsigned worker = 0; worker < os_threads; ++worker)
      workers.emplace_back([&, worker] {
        BlockHazards block;
        block.begin_launch(grid, {kShared, 256}, {}, threads);
        for (unsigned b = worker; b < blocks; b += os_threads) {
          block.begin_block(b);
          for (unsigned t = 0; t < threads; ++t) {
            block.access(t, {.address = kFlag, .bytes = 4, .site = 1});
            block.access(t, {.address = kShared + 4 * t, .bytes = 4, .is_store = true, .is_shared = true, .site = 2});
            // Neighbouring bytes belong to neighbouring blocks.
            const std::uintptr_t byte = kGlobal + t * blocks + (racy ? b / 2 : b);
            block.access(t, {.address = byte, .bytes = 1, .is_store = true, .site = 3});
          }
          block.block_barrier();
          for (unsigned t = 0; t < threads; ++t) {
            const std::uintptr_t other = kShared + 4 * (threads - 1 - t);
            block.access(t, {.address = other, .bytes = 4, .is_shared = true, .site = 4});
            block.access(t, {.address = kFlag + 4, .bytes = 4, .is_store = true, .is_atomic = true, .site = 5});
          }
        }
      });
    for (std::thread& worker : workers) worker.join();
    const auto found = grid.take();
    if (!racy) {
      EXPECT_EQ(found.size(), 0u);
      continue;
    }
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].kind, finding_kind::race_between_blocks);
    EXPECT_EQ(found[0].occurrences, blocks / 2 * threads);
    EXPECT_EQ(found[0].first.site, 3u);
  }
}

TEST(HazardsOfManyThreads, OfTwoWritersAtTheSameTimeOneIsSecond) {
  constexpr unsigned words = 300'000;
  GridHazards grid(2);
  grid.add_buffer(kGlobal, 4 * words, nullptr);
  std::atomic<int> ready = 0;
  const auto write_all = [&](unsigned index) {
    BlockHazards block;
    block.begin_launch(grid, {}, {}, 1);
    block.begin_block(index);
    for (++ready; ready < 2;) {
    }
    for (unsigned i = 0; i < words; ++i)
      block.access(0, {.address = kGlobal + 4 * i, .bytes = 4, .is_store = true, .site = 1});
  };
  std::thread other(write_all, 1);
  write_all(0);
  other.join();
  const auto found = grid.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].occurrences, words);
}

TEST(HazardsOfManyThreads, ALastBlockIsOrderedAfterAll) {
  constexpr unsigned blocks = 200, os_threads = 4;
  GridHazards grid(blocks);
  grid.add_buffer(kGlobal, 4 * blocks, nullptr);
  grid.add_buffer(kFlag, 4, nullptr);
  std::atomic<unsigned> counter = 0;
  std::vector<std::thread> workers;
  for (unsigned worker = 0; worker < os_threads; ++worker)
    workers.emplace_back([&, worker] {
      BlockHazards block;
      block.begin_launch(grid, {}, {}, 32);
      for (unsigned b = worker; b < blocks; b += os_threads) {
        block.begin_block(b);
        block.access(0, {.address = kGlobal + 4 * b, .bytes = 4, .is_store = true, .site = 1});
        block.fence(0, false);
        block.access(0, {.address = kFlag, .bytes = 4, .is_store = true, .is_atomic = true, .site = 2});
        const bool is_last = ++counter == blocks;
        block.block_barrier();
        if (!is_last) continue;
        for (unsigned i = 0; i < blocks; ++i) block.access(i % 32, {.address = kGlobal + 4 * i, .bytes = 4, .site = 3});
      }
    });
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(grid.take().size(), 0u);
}

// ---- Hostile input ----

TEST_F(Hazards, WhatIsNoBufferIsNotChecked) {
  for (int i = 0; i < 2; ++i)
    for (const std::uintptr_t address :
         {kGlobal - 4, kGlobal + (1 << 16), kShared + 4096, std::uintptr_t{0}, ~std::uintptr_t{3}})
      store(i, address);
  access(1, at(kGlobal, true, 0));
  access(2, at(kGlobal, true));
  EXPECT_EQ(kinds(), kNone);
  store(1, kGlobal + (1 << 16) - 4, 16);  // sticks out of the buffer
  load(2, kGlobal + (1 << 16) - 4);
  EXPECT_EQ(kinds(), kReadAfterWrite);
  store(1, kGlobal + 254);  // not aligned, across the checker's pages
  load(2, kGlobal + 257, 1);
  EXPECT_EQ(kinds(), kReadAfterWrite);
}

TEST_F(Hazards, WrongUseIsRefused) {
  EXPECT_THROW(load(kThreads, kGlobal), Error);
  EXPECT_THROW(block_.fence(kThreads, false), Error);
  EXPECT_THROW(block_.copies_arrived(kThreads, 0), Error);
  EXPECT_THROW(block_.warp_barrier(3, 1), Error);
  EXPECT_THROW(block_.warp_barrier(~0u, 1), Error);
  EXPECT_THROW(block_.begin_block(8), Error);
  EXPECT_THROW(block_.begin_launch(grid_, {}, {}, 0), Error);
  EXPECT_THROW(block_.begin_launch(grid_, {}, {}, 1025), Error);
  EXPECT_THROW(GridHazards(std::uint64_t{1} << 31), Error);
  EXPECT_THROW(grid_.add_buffer(kGlobal + 8, 4, nullptr), Error);
  EXPECT_THROW(grid_.add_buffer(kGlobal - 4, 8, nullptr), Error);
  EXPECT_THROW(grid_.add_buffer(kGlobal + (1 << 20), std::size_t{1} << 60, nullptr), Error);
  EXPECT_THROW(grid_.add_buffer(kGlobal + (1 << 20), ~std::size_t{0}, nullptr), Error);
  EXPECT_NO_THROW(grid_.add_buffer(kGlobal, 0, nullptr));
  BlockHazards idle;
  EXPECT_THROW(idle.begin_block(0), Error);
  EXPECT_THROW(idle.access(0, at(kGlobal, false)), Error);
  EXPECT_NO_THROW(idle.block_barrier());
}

TEST(HazardSites, BeyondTheNumberThatIsKeptHaveNoPlace) {
  GridHazards grid(1);
  grid.add_buffer(kGlobal, 4096, nullptr);
  BlockHazards block;
  block.begin_launch(grid, {}, {}, 2);
  block.begin_block(0);
  for (std::uintptr_t site = 1; site <= 9000; ++site) block.access(0, {.address = kGlobal, .bytes = 4, .site = site});
  block.access(1, {.address = kGlobal, .bytes = 4, .is_store = true, .site = 10000});
  const auto found = grid.take();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].kind, finding_kind::write_after_read);
  EXPECT_EQ(found[0].first.site, 0u);
  EXPECT_EQ(found[0].first.thread, 0u);
}

TEST(FindingKinds, AreKnownByTheirNames) {
  EXPECT_EQ(std::string(finding_kind::read_after_write), "read after write");
  EXPECT_TRUE(finding_kind::read_after_write == FindingKind("read after write"));
  EXPECT_FALSE(finding_kind::read_after_write == finding_kind::write_after_read);
  EXPECT_TRUE(finding_kind::out_of_bounds == FindingKind("out of bounds"));
}

}  // namespace
}  // namespace rung
