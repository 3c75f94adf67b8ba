/// Fibers: the threads of a block. A fiber runs until it suspends itself and continues from there when resumed. It
/// belongs to the OS thread that first resumed it.
#pragma once

#include <boost/context/fiber.hpp>
#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#define RUNG_ASAN(call) call
#else
#define RUNG_ASAN(call)
#endif

namespace rung {

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
  /// Whether the stack has not overflowed.
  bool intact() const;

 private:
  void arrived_inside();

  StackArea stack_;
  std::function<void(Fiber&)> body_;
  boost::context::fiber inside_, outside_;
  // For AddressSanitizer, which must be notified of every change of stack; unused without it.
  void* inside_fake_stack_ = nullptr;
  void* outside_fake_stack_ = nullptr;
  StackArea outside_stack_;
};

// Inline: every return after a switch is mispredicted, so there should be few.
inline void Fiber::resume() {
  RUNG_ASAN(__sanitizer_start_switch_fiber(&outside_fake_stack_, stack_.begin, stack_.bytes));
  inside_ = std::move(inside_).resume();
  RUNG_ASAN(__sanitizer_finish_switch_fiber(outside_fake_stack_, nullptr, nullptr));
}

inline void Fiber::suspend() {
  RUNG_ASAN(__sanitizer_start_switch_fiber(&inside_fake_stack_, outside_stack_.begin, outside_stack_.bytes));
  outside_ = std::move(outside_).resume();
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
