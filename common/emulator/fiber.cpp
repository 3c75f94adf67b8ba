#include "common/emulator/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>

#include "common/registry.hpp"

namespace rung {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStackBytes = 256 << 10;
#else
constexpr std::size_t kStackBytes = 128 << 10;
#endif
constexpr std::size_t kStacksPerArea = 32;
constexpr std::size_t kGuardBytes = 4096;

// Cache colouring: at equal offsets in all stacks, the 32 hot frames of a warp would map to the same few cache sets.
constexpr std::size_t kColours = 16, kColourBytes = 256;

constexpr std::uint64_t kCanary = 0x57ac4e4d'0f57ac45;

/// The stack allocator that boost::context requires. It does nothing, since the pool owns the stacks.
struct KeepStack {
  void deallocate(boost::context::stack_context&) {}
};

}  // namespace

Fiber::Fiber(StackArea stack, std::function<void(Fiber&)> body) : stack_(stack), body_(std::move(body)) {
  std::memcpy(stack.begin, &kCanary, sizeof kCanary);
  boost::context::stack_context context;
  context.sp = stack.begin + stack.bytes;
  context.size = stack.bytes;
  inside_ = boost::context::fiber(
      std::allocator_arg, boost::context::preallocated(context.sp, context.size, context), KeepStack{},
      [this](boost::context::fiber&& from) {
        outside_ = std::move(from);
        arrived_inside();
        body_(*this);
        RUNG_ASAN(__sanitizer_start_switch_fiber(nullptr, outside_stack_.begin, outside_stack_.bytes));
        return std::move(outside_);
      });
}

bool Fiber::intact() const { return std::memcmp(stack_.begin, &kCanary, sizeof kCanary) == 0; }

void StackPool::Unmap::operator()(std::byte* area) const { munmap(area, bytes); }

StackArea StackPool::next() {
  const std::size_t index = used_ % kStacksPerArea;
  if (index == 0) {
    constexpr std::size_t bytes = kGuardBytes + kStacksPerArea * kStackBytes;
    void* area = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) throw Error("the emulator is out of memory for the stacks of a block's threads");
    madvise(area, bytes, MADV_NOHUGEPAGE);   // a huge page for each stack would exhaust the memory
    mprotect(area, kGuardBytes, PROT_NONE);  // a guard page stops endless recursion
    areas_.emplace_back(static_cast<std::byte*>(area), Unmap{bytes});
  }
  ++used_;
  std::byte* begin = areas_.back().get() + kGuardBytes + index * kStackBytes;
  return {begin, kStackBytes - index % kColours * kColourBytes};
}

}  // namespace rung
