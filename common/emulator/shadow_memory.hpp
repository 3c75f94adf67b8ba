/// Shadow memory: for each word (or byte) of a range of memory, the latest accesses that later ones may conflict with.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <string>

#include "common/registry.hpp"

namespace rung {

/// An access in 64 bits: thread, site, flags and time; 0 is none. The time is the block's index above the epoch of the
/// block (happens_before.hpp), which counts from 1.
struct AccessRecord {
  static constexpr int kThreadBits = 10, kSiteBits = 13, kTimeShift = 27, kTimeBits = 64 - kTimeShift;
  static constexpr std::uint64_t kStore = 1ull << 23, kStrong = 1ull << 24, kInFlight = 1ull << 25,
                                 kInWriterSlot = 1ull << 26;

  std::uint64_t bits = 0;

  explicit operator bool() const { return bits != 0; }
  bool operator==(const AccessRecord&) const = default;
  unsigned thread() const { return bits & ((1u << kThreadBits) - 1); }
  unsigned site() const { return bits >> kThreadBits & ((1u << kSiteBits) - 1); }
  std::uint64_t time() const { return bits >> kTimeShift; }
  bool is_store() const { return bits & kStore; }
  bool is_strong() const { return bits & kStrong; }       ///< atomic or volatile
  bool is_in_flight() const { return bits & kInFlight; }  ///< the store of an asynchronous copy
  bool is_in_writer_slot() const { return bits & kInWriterSlot; }
  /// Accesses of the same class conflict with the same accesses.
  bool has_class_of(AccessRecord other) const { return ((bits ^ other.bits) & (kStore | kStrong)) == 0; }
  bool is_strong_load() const { return (bits & (kStore | kStrong)) == kStrong; }
};

/// Whether the two race unless they are ordered.
inline bool conflict(AccessRecord a, AccessRecord b) {
  return (a.is_store() || b.is_store()) && !(a.is_strong() && b.is_strong());
}

/// What is remembered of an element: its last store, and two accesses since then that need not be ordered.
struct ShadowCell {
  AccessRecord writer, first, second;
  bool is_written() const { return writer || first.is_store() || second.is_store(); }
};

class SpinLock {
 public:
  void lock() {
    while (taken_.exchange(true, std::memory_order_acquire))
      while (taken_.load(std::memory_order_relaxed)) {
      }
  }
  void unlock() { taken_.store(false, std::memory_order_release); }

 private:
  alignas(64) std::atomic<bool> taken_ = false;
};

/// The locks of all shadow pages, assigned by page index.
using PageLocks = std::array<SpinLock, 512>;

/// The cells of a range of memory. A word has two slots; the second holds the last store, or another load if there was
/// no store. A page of memory that needs more gets it on first use: a third slot for each word, or cells for each byte.
class ShadowMemory {
 public:
  /// `locks`: null if only one OS thread uses it. `written_bytes`: as in GridHazards::add_buffer. Throws Error if there
  /// is no memory.
  ShadowMemory(std::uintptr_t begin, std::size_t bytes, PageLocks* locks, std::uint8_t* written_bytes)
      : begin_(begin), end_(begin + bytes), base_(begin & ~(kPageBytes - 1)), locks_(locks), written_(written_bytes) {
    const std::size_t pages = (end_ - base_ + kPageBytes - 1) / kPageBytes;
    // Zeroed by the operating system on first touch.
    slots_.reset(static_cast<std::uint64_t*>(std::calloc(pages * kPageWords * 2, sizeof(std::uint64_t))));
    pages_.reset(static_cast<Page*>(std::calloc(pages, sizeof(Page))));
    if (!slots_ || !pages_)
      throw Error("no memory to check a buffer of " + std::to_string(bytes) + " bytes for hazards");
    for (std::size_t i = 0; i < pages; ++i) new (&pages_.get()[i]) Page;
    page_count_ = pages;
  }
  ~ShadowMemory() {
    for (Page& page : std::span(pages_.get(), page_count_)) {
      delete page.third_slots.load();
      delete page.bytes.load();
    }
  }
  ShadowMemory(const ShadowMemory&) = delete;
  ShadowMemory& operator=(const ShadowMemory&) = delete;

  std::uintptr_t begin() const { return begin_; }
  std::uintptr_t end() const { return end_; }
  bool holds(std::uintptr_t address) const { return address - begin_ < end_ - begin_; }

  /// Calls check(cell, address) for each element, a word or a byte, of an access that begins in the range; it returns
  /// whether it has changed the cell.
  template <typename Check>
  void visit(std::uintptr_t address, std::size_t bytes, Check&& check) {
    const bool in_words = ((address | bytes) & 3) == 0;
    const std::uintptr_t end = address + std::min(bytes, end_ - address);
    while (address < end) {
      const std::uintptr_t page_index = (address - base_) / kPageBytes;
      const std::uintptr_t stop = std::min(end, base_ + (page_index + 1) * kPageBytes);
      Page& page = pages_.get()[page_index];
      if (locks_) lock_of(page_index).lock();
      if (!in_words) split_into_bytes(page_index);
      if (ByteCells* cells = page.bytes.load(std::memory_order_relaxed)) {
        for (; address < stop; ++address) check((*cells)[(address - base_) % kPageBytes], address);
      } else {
        for (; address < stop; address += 4) visit_word(page, (address - base_) / 4, address, check);
      }
      if (locks_) lock_of(page_index).unlock();
    }
  }

  /// Whether each of these words has records of plain loads by two blocks other than `block`, and of nothing else: then
  /// one more plain load changes nothing. Takes no lock.
  template <typename BlockOf>
  bool is_read_by_others(std::uintptr_t address, std::size_t bytes, std::uint64_t block, BlockOf block_of) const {
    if (((address | bytes) & 3) != 0 || end_ - address < bytes) return false;
    for (const std::uintptr_t end = address + bytes; address < end; address += 4) {
      if (pages_.get()[(address - base_) / kPageBytes].bytes.load(std::memory_order_relaxed)) return false;
      const std::size_t word = (address - base_) / 4;
      const AccessRecord a = load(slots_.get()[2 * word]), b = load(slots_.get()[2 * word + 1]);
      if (!a || !b || ((a.bits | b.bits) & (AccessRecord::kStore | AccessRecord::kStrong))) return false;
      const std::uint64_t first = block_of(a), second = block_of(b);
      if (first == second || first == block || second == block) return false;
    }
    return true;
  }

  /// Whether all bytes of a load have been written, before this launch or in it.
  bool are_written(std::uintptr_t address, std::size_t bytes) const {
    if (!written_) return true;
    bool all = true;
    for (std::size_t i = 0; i < std::min(bytes, end_ - address); ++i)
      all &= std::atomic_ref(written_[address - begin_ + i]).load(std::memory_order_relaxed) != 0;
    return all;
  }
  void mark_written(std::uintptr_t address, std::size_t bytes) {
    if (!written_) return;
    for (std::size_t i = 0; i < std::min(bytes, end_ - address); ++i)
      std::atomic_ref(written_[address - begin_ + i]).store(1, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t kPageBytes = 256, kPageWords = kPageBytes / 4;
  using ThirdSlots = std::array<AccessRecord, kPageWords>;
  using ByteCells = std::array<ShadowCell, kPageBytes>;
  struct Page {
    std::atomic<ThirdSlots*> third_slots = nullptr;
    std::atomic<ByteCells*> bytes = nullptr;
  };
  struct Free {
    void operator()(void* memory) const { std::free(memory); }
  };

  static AccessRecord load(const std::uint64_t& slot) {
    return {std::atomic_ref(const_cast<std::uint64_t&>(slot)).load(std::memory_order_relaxed)};
  }
  static void store(std::uint64_t& slot, AccessRecord record) {
    std::atomic_ref(slot).store(record.bits, std::memory_order_relaxed);
  }

  SpinLock& lock_of(std::size_t page) { return (*locks_)[page % locks_->size()]; }

  ShadowCell cell_of(const Page& page, std::size_t word) const {
    const AccessRecord last = load(slots_.get()[2 * word + 1]);
    ShadowCell cell{.writer = {}, .first = load(slots_.get()[2 * word]), .second = last};
    if (last.is_in_writer_slot()) {
      const ThirdSlots* third = page.third_slots.load(std::memory_order_relaxed);
      cell.writer = last;
      cell.second = third ? (*third)[word % kPageWords] : AccessRecord{};
    }
    return cell;
  }

  template <typename Check>
  void visit_word(Page& page, std::size_t word, std::uintptr_t address, Check& check) {
    ShadowCell cell = cell_of(page, word);
    if (!check(cell, address)) return;
    store(slots_.get()[2 * word], cell.first);
    store(slots_.get()[2 * word + 1], cell.writer ? cell.writer : cell.second);
    ThirdSlots* third = page.third_slots.load(std::memory_order_relaxed);
    if (!third && cell.writer && cell.second)
      page.third_slots.store(third = new ThirdSlots{}, std::memory_order_relaxed);
    if (third) (*third)[word % kPageWords] = cell.second;
  }

  void split_into_bytes(std::size_t page_index) {
    Page& page = pages_.get()[page_index];
    if (page.bytes.load(std::memory_order_relaxed)) return;
    auto* cells = new ByteCells;
    for (std::size_t i = 0; i < kPageBytes; ++i) (*cells)[i] = cell_of(page, page_index * kPageWords + i / 4);
    page.bytes.store(cells, std::memory_order_relaxed);
  }

  std::uintptr_t begin_, end_, base_;
  PageLocks* locks_;
  std::uint8_t* written_;
  std::unique_ptr<std::uint64_t, Free> slots_;
  std::unique_ptr<Page, Free> pages_;
  std::size_t page_count_ = 0;
};

}  // namespace rung
