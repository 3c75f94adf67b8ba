#include "common/emulator/crash.hpp"

#include <signal.h>
#include <ucontext.h>

#include <cstdint>

#include "common/emulator/block.hpp"

namespace rung {
namespace {

constexpr std::size_t kSignalStackBytes = 64 << 10;

/// The instruction that the signal interrupted; 0 if it is not known here.
std::uintptr_t interrupted_code([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(static_cast<const ucontext_t*>(context)->uc_mcontext.pc);
#else
  return 0;
#endif
}

void handle_crash(int signal, siginfo_t*, void* context) {
  BlockRunner& runner = BlockRunner::of_this_thread();
  if (runner.is_running()) runner.stop_crashed(signal, interrupted_code(context));
  ::signal(signal, SIG_DFL);  // the same instruction ends the program now
}

}  // namespace

SignalStack::SignalStack() : memory_(new std::byte[kSignalStackBytes]) {
  const stack_t stack{.ss_sp = memory_.get(), .ss_flags = 0, .ss_size = kSignalStackBytes};
  sigaltstack(&stack, nullptr);
}

SignalStack::~SignalStack() {
  const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  sigaltstack(&none, nullptr);
}

void catch_crashes() {
#ifndef __SANITIZE_ADDRESS__  // which reports more about a bad address
  [[maybe_unused]] static const bool caught = [] {
    struct sigaction action {};
    action.sa_sigaction = handle_crash;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;  // the handler does not return where it leaves for a fiber
    for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE}) sigaction(signal, &action, nullptr);
    return true;
  }();
#endif
}

}  // namespace rung
