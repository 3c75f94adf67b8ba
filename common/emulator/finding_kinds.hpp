/// The kinds of findings: everything that the emulator reports about a kernel has one of them. To add a kind, declare
/// it here and report it where it is detected.
#pragma once

#include <string>
#include <string_view>

namespace rung {

/// A kind of finding, known by its name in messages and in results.
class FindingKind {
 public:
  constexpr explicit FindingKind(std::string_view name) : name_(name) {}
  constexpr operator std::string_view() const { return name_; }
  friend constexpr bool operator==(const FindingKind&, const FindingKind&) = default;
  friend bool operator==(const FindingKind& kind, const std::string& name) { return kind.name_ == name; }
  friend constexpr bool operator<(const FindingKind& a, const FindingKind& b) { return a.name_ < b.name_; }

 private:
  std::string_view name_;
};

namespace finding_kind {

// Conflicting accesses that are not ordered. The first three are by threads of the same block.
inline constexpr FindingKind read_after_write{"read after write"};
inline constexpr FindingKind write_after_read{"write after read"};
inline constexpr FindingKind write_after_write{"write after write"};
inline constexpr FindingKind race_between_blocks{"race between blocks"};
/// A unit (TMA, a tensor core) uses shared memory that threads wrote, with a barrier but no proxy fence between.
inline constexpr FindingKind missing_proxy_fence{"missing proxy fence"};

// Reads of undefined values.
inline constexpr FindingKind uninitialized_shared{"uninitialised shared memory"};  ///< not written by this block
inline constexpr FindingKind uninitialized_global{"uninitialised global memory"};  ///< not written by host or kernel
inline constexpr FindingKind uninitialized_register{"uninitialised register variable"};  ///< ends the block
inline constexpr FindingKind unfinished_copy{"unfinished copy"};  ///< of an asynchronous copy not yet waited for

// Faults: they end the block.
inline constexpr FindingKind out_of_bounds{"out of bounds"};
inline constexpr FindingKind misaligned_access{"misaligned access"};
/// By a plain type: neither counted nor checked, so no other result of the emulator would be reliable.
inline constexpr FindingKind without_mem{"access without mem<>"};
/// Threads wait at different __syncthreads(); or lanes at one that other lanes of their warp left the kernel without,
/// which does not end the block.
inline constexpr FindingKind divergent_barrier{"divergent barrier"};
inline constexpr FindingKind divergent_warp{"divergent warp"};  ///< lanes named in a mask do not take part
inline constexpr FindingKind bad_shuffle{"bad shuffle"};
inline constexpr FindingKind bad_asynchronous_copy{"bad asynchronous copy"};
inline constexpr FindingKind bad_mbarrier{"bad mbarrier"};                ///< not initialised, or one arrival too many
inline constexpr FindingKind missing_wgmma_fence{"missing wgmma fence"};  ///< before a warp's first wgmma
inline constexpr FindingKind never_awaited{"never awaited"};              ///< a block ends while a unit works for it
inline constexpr FindingKind deadlock{"deadlock"};  ///< threads wait, and no other thread can end the wait
inline constexpr FindingKind assertion{"assertion"};
inline constexpr FindingKind exception{"exception"};
inline constexpr FindingKind crash{"crash"};  ///< a signal of the processor: an invalid address, a division by 0
inline constexpr FindingKind stack_overflow{"stack overflow"};
inline constexpr FindingKind runaway{"runaway"};            ///< the block exceeds its budget of basic blocks
inline constexpr FindingKind not_emulated{"not emulated"};  ///< legal on a GPU, unknown to the emulator

}  // namespace finding_kind
}  // namespace rung
