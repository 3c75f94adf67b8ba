/// What a processor refuses in kernel code, such as an invalid address, is a fault of the kernel and not the
/// end of the program.
#pragma once

#include <cstddef>
#include <memory>

namespace rung {

/// A stack for the signal handlers of this OS thread, whose own stack may have overflowed.
class SignalStack {
 public:
  SignalStack();
  ~SignalStack();
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  std::unique_ptr<std::byte[]> memory_;
};

/// From the first call on, SIGSEGV, SIGBUS, SIGILL and SIGFPE in a running kernel's code fail its block
/// (BlockRunner::stop_crashed). Elsewhere they do what they did.
void catch_crashes();

}  // namespace rung
