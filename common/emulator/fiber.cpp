#include "common/emulator/fiber.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

#include "common/registry.hpp"

namespace rung {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr std::size_t kStackBytes = 256 << 10;
#else
constexpr std::size_t kStackBytes = 128 << 10;
#endif
constexpr std::size_t kStacksPerArea = 32;
constexpr std::size_t kGuardPage = 4096;

// Cache colouring: at equal offsets in all stacks, the 32 hot frames of a warp would map to the same few cache sets.
constexpr std::size_t kColours = 16, kColourBytes = 256;

constexpr std::uint64_t kCanary = 0x57ac4e4d'0f57ac45;

#ifdef RUNG_BOOST_CONTEXT
/// The stack allocator that boost::context requires. It does nothing, since the pool owns the stacks.
struct KeepStack {
  void deallocate(boost::context::stack_context&) {}
};
#endif

}  // namespace

Fiber::Fiber(StackArea stack, std::function<void(Fiber&)> body) : stack_(stack), body_(std::move(body)) { start(); }

void Fiber::start() {
  std::memcpy(stack_.begin, &kCanary, sizeof kCanary);
#ifdef RUNG_BOOST_CONTEXT
  boost::context::stack_context context;
  context.sp = stack_.begin + stack_.bytes;
  context.size = stack_.bytes;
  inside_ = boost::context::fiber(std::allocator_arg, boost::context::preallocated(context.sp, context.size, context),
                                  KeepStack{}, [this](boost::context::fiber&& from) {
                                    outside_ = std::move(from);
                                    run_body();
                                    return std::move(outside_);
                                  });
#else
  if (getcontext(&start_) != 0) throw Error("the emulator cannot make a context for a thread");
  start_.uc_stack.ss_sp = stack_.begin;
  start_.uc_stack.ss_size = stack_.bytes;
  start_.uc_link = nullptr;                                  // the body does not return there
  const auto self = reinterpret_cast<std::uintptr_t>(this);  // makecontext() passes integers only
  makecontext(&start_, reinterpret_cast<void (*)()>(enter), 2, static_cast<unsigned>(self >> 32),
              static_cast<unsigned>(self));
#endif
}

void Fiber::restart() {
#ifdef RUNG_BOOST_CONTEXT
  // Its destructor would unwind the stack.
  alignas(boost::context::fiber) std::byte never_destroyed[sizeof(boost::context::fiber)];
  new (never_destroyed) boost::context::fiber(std::move(inside_));
#else
  has_started_ = false;
#endif
  RUNG_ASAN(__asan_unpoison_memory_region(stack_.begin, stack_.bytes));
  inside_fake_stack_ = nullptr;
  start();
}

#ifndef RUNG_BOOST_CONTEXT
void Fiber::enter(unsigned high, unsigned low) {
  auto* const fiber = reinterpret_cast<Fiber*>(std::uintptr_t{high} << 32 | low);
  fiber->run_body();
  jump_to(fiber->outside_, 1);
}
#endif

void Fiber::run_body() {
  arrived_inside();
  body_(*this);
  RUNG_ASAN(__sanitizer_start_switch_fiber(nullptr, outside_stack_.begin, outside_stack_.bytes));
}

bool Fiber::intact() const { return std::memcmp(stack_.begin, &kCanary, sizeof kCanary) == 0; }

void StackPool::Unmap::operator()(std::byte* area) const {
  RUNG_ASAN(__asan_unpoison_memory_region(area, bytes));  // whoever gets these addresses next may use them
  munmap(area, bytes);
}

StackArea StackPool::next() {
  const std::size_t index = used_ % kStacksPerArea;
  if (index == 0) {
    constexpr std::size_t bytes = kGuardPage + kStacksPerArea * kStackBytes;
    void* area = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (area == MAP_FAILED) throw Error("the emulator is out of memory for the stacks of a block's threads");
    madvise(area, bytes, MADV_NOHUGEPAGE);  // a huge page for each stack would exhaust the memory
    mprotect(area, kGuardPage, PROT_NONE);  // a guard page stops endless recursion
    areas_.emplace_back(static_cast<std::byte*>(area), Unmap{bytes});
  }
  ++used_;
  std::byte* begin = areas_.back().get() + kGuardPage + index * kStackBytes;
  return {begin, kStackBytes - index % kColours * kColourBytes};
}

}  // namespace rung
