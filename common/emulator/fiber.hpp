/// Fibers: the threads of a block. A fiber runs until it suspends itself and continues from there when resumed. It
/// belongs to the OS thread that first resumed it.
/// Boost.Context switches between them. In a build without it ucontext starts them and jumps switch, since
/// swapcontext() would make a system call each time.
#pragma once

#ifdef RUNG_BOOST_CONTEXT
#include <boost/context/fiber.hpp>
#else
#include <setjmp.h>
#include <ucontext.h>
#endif
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define RUNG_ASAN(call) call
#else
#define RUNG_ASAN(call)
#endif

namespace rung {

#ifndef RUNG_BOOST_CONTEXT
/// longjmp() itself: with _FORTIFY_SOURCE, which some distributions define, its name means a variant that refuses to
/// switch stacks.
extern "C" [[noreturn]] void jump_to(__jmp_buf_tag* place, int value) __asm__("_longjmp");
#endif

struct StackArea {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
};

class Fiber {
 public:
  Fiber(StackArea stack, std::function<void(Fiber&)> body);

  /// Runs the fiber until it suspends or its body ends.
  void resume();
  /// Returns to where the fiber was resumed. To be called from inside it.
  void suspend();
  /// Abandons the fiber's execution: its stack is reused, and nothing on it is destroyed. The next resume() starts the
  /// body again. To be called from outside.
  void restart();
  /// Whether the stack has not overflowed.
  bool intact() const;

 private:
  void start();
  void run_body();
  void arrived_inside();

  StackArea stack_;
  std::function<void(Fiber&)> body_;
#ifdef RUNG_BOOST_CONTEXT
  boost::context::fiber inside_, outside_;
#else
  static void enter(unsigned high, unsigned low);

  ucontext_t start_;
  bool has_started_ = false;
  jmp_buf inside_, outside_;
#endif
  // For AddressSanitizer, which must be notified of every change of stack; unused without it.
  void* inside_fake_stack_ = nullptr;
  void* outside_fake_stack_ = nullptr;
  StackArea outside_stack_;
};

// Inline: every return after a switch is mispredicted, so there should be few.
inline void Fiber::resume() {
  RUNG_ASAN(__sanitizer_start_switch_fiber(&outside_fake_stack_, stack_.begin, stack_.bytes));
#ifdef RUNG_BOOST_CONTEXT
  inside_ = std::move(inside_).resume();
#else
  if (_setjmp(outside_) == 0) {
    if (has_started_) jump_to(inside_, 1);
    has_started_ = true;
    setcontext(&start_);
  }
#endif
  RUNG_ASAN(__sanitizer_finish_switch_fiber(outside_fake_stack_, nullptr, nullptr));
}

inline void Fiber::suspend() {
  RUNG_ASAN(__sanitizer_start_switch_fiber(&inside_fake_stack_, outside_stack_.begin, outside_stack_.bytes));
#ifdef RUNG_BOOST_CONTEXT
  outside_ = std::move(outside_).resume();
#else
  if (_setjmp(inside_) == 0) jump_to(outside_, 1);
#endif
  arrived_inside();
}

inline void Fiber::arrived_inside() {
  RUNG_ASAN(__sanitizer_finish_switch_fiber(inside_fake_stack_,
                                            const_cast<const void**>(reinterpret_cast<void**>(&outside_stack_.begin)),
                                            &outside_stack_.bytes));
}

/// Stacks from a few large mappings, which are kept. Pages that are never touched cost nothing.
class StackPool {
 public:
  StackArea next();

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* area) const;
  };
  std::vector<std::unique_ptr<std::byte, Unmap>> areas_;
  std::size_t used_ = 0;
};

}  // namespace rung
