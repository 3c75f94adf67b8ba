#include "common/emulator/device_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "common/machine/target.hpp"

namespace rung {
namespace {

constexpr std::size_t kAlignment = 256;    // as cudaMalloc's; the sectors of a request depend on it
constexpr std::size_t kGap = kGuardBytes;  // before and after each allocation, so that small overruns hit no other

struct Block {
  void* raw = nullptr;
  std::size_t bytes = 0;
  std::string name;
  bool all_written = false;
  std::unique_ptr<std::uint8_t[]>
      written;  // null if nothing or all of it has been written, unless flags were requested

  std::uint8_t* flags() {
    if (!written) written = std::make_unique<std::uint8_t[]>(bytes);
    return written.get();
  }
};

struct Memory {
  std::mutex mutex;
  std::map<std::uintptr_t, Block> blocks;

  std::map<std::uintptr_t, Block>::iterator holding(std::uintptr_t address) {
    auto next = blocks.upper_bound(address);
    if (next == blocks.begin()) return blocks.end();
    --next;
    return address - next->first < next->second.bytes ? next : blocks.end();
  }
};

Memory& memory() {
  static Memory instance;
  return instance;
}

Allocation view(std::uintptr_t begin, const Block& block) {
  return {begin, block.bytes, block.name, block.all_written ? nullptr : block.written.get()};
}

}  // namespace

void* allocate_on_device(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment) / kAlignment * kAlignment + 2 * kGap;
  void* raw = rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
  if (!raw) throw Error("out of memory: " + std::to_string(bytes) + " bytes for the emulated device");
  const auto begin = reinterpret_cast<std::uintptr_t>(raw) + kGap;
  const std::scoped_lock lock(memory().mutex);
  memory().blocks[begin] = Block{.raw = raw, .bytes = bytes};
  return reinterpret_cast<void*>(begin);
}

void release_on_device(void* released) noexcept {
  const std::scoped_lock lock(memory().mutex);
  const auto found = memory().blocks.find(reinterpret_cast<std::uintptr_t>(released));
  if (found == memory().blocks.end()) return;
  std::free(found->second.raw);
  memory().blocks.erase(found);
}

void name_buffer(const void* named, std::string name) {
  const std::scoped_lock lock(memory().mutex);
  const auto found = memory().holding(reinterpret_cast<std::uintptr_t>(named));
  if (found != memory().blocks.end()) found->second.name = std::move(name);
}

void mark_written(const void* first, std::size_t bytes) {
  const auto address = reinterpret_cast<std::uintptr_t>(first);
  const std::scoped_lock lock(memory().mutex);
  const auto found = memory().holding(address);
  if (found == memory().blocks.end() || found->second.all_written) return;
  Block& block = found->second;
  const std::size_t offset = address - found->first;
  const std::size_t marked = std::min(bytes, block.bytes - offset);
  if (marked == block.bytes) {
    block.all_written = true;
    block.written.reset();
  } else {
    std::memset(block.flags() + offset, 1, marked);
  }
}

void mark_all_written() {
  const std::scoped_lock lock(memory().mutex);
  for (auto& [begin, block] : memory().blocks) {
    block.all_written = true;
    block.written.reset();
  }
}

void mark_unwritten(const void* begin) {
  const std::scoped_lock lock(memory().mutex);
  const auto found = memory().blocks.find(reinterpret_cast<std::uintptr_t>(begin));
  if (found == memory().blocks.end()) return;
  found->second.all_written = false;
  found->second.written.reset();
}

std::vector<Allocation> allocations(bool with_flags) {
  const std::scoped_lock lock(memory().mutex);
  std::vector<Allocation> all;
  for (auto& [begin, block] : memory().blocks) {
    if (with_flags && !block.all_written) block.flags();
    all.push_back(view(begin, block));
  }
  return all;
}

Allocation nearest_allocation(std::uintptr_t address) {
  const std::scoped_lock lock(memory().mutex);
  const auto& blocks = memory().blocks;
  const auto next = blocks.upper_bound(address);
  if (next != blocks.begin()) {
    const auto below = std::prev(next);
    if (next == blocks.end() || address < below->first + below->second.bytes + kGap || address < next->first - kGap)
      return view(below->first, below->second);
  }
  return next == blocks.end() ? Allocation{} : view(next->first, next->second);
}

}  // namespace rung
