/// The planted faults: small kernels, each with one well-known mistake, and most with a twin without that mistake. They
/// measure the emulator's checks and compute-sanitizer's tools. Compiled like every kernel, with nvcc for the GPU and
/// with g++ for the emulator.
#pragma once

#include <algorithm>
#include <functional>
#include <numeric>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

#include "gpu/simt/simt.hpp"

namespace rung {

/// An array in global memory, allocated at exactly this size.
struct FaultyBuffer {
  std::string name;
  std::size_t bytes = 0;
  bool is_initialised = true;  ///< with `values` or else zeros, by the host
  std::vector<float> values = {};
};

/// `count` numbers from `first` on, in steps of one.
inline std::vector<float> numbers_from(float first, int count) {
  std::vector<float> numbers(count);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

struct Faulty {
  std::string name;
  std::string what;                   ///< the fault in a few words
  std::vector<std::string> findings;  ///< the kinds that name it, any of them: which one comes depends on the order
  std::string buffer;                 ///< the array that the finding names; empty if it is not about memory
  bool runs_away = false;             ///< never ends, so a GPU cannot run it
  Launch launch;
  std::vector<FaultyBuffer> buffers;
  std::function<void(const Call&)> run;    ///< launches it; operands are the buffers
  std::function<void(const Call&)> right;  ///< launches its right twin on the same buffers; null if there is none
  std::string file{};                      ///< "barriers.cu"; add_faulty() fills it in

  bool is_right() const { return findings.empty(); }
  /// Whether its buffers have values, so that its result is worth comparing with its twin's.
  bool has_values() const {
    return std::any_of(buffers.begin(), buffers.end(), [](const FaultyBuffer& b) { return !b.values.empty(); });
  }
};

/// Every faulty kernel, and after each its right twin as an entry of its own, called NAME_right.
inline std::vector<Faulty>& faulty_kernels() {
  static std::vector<Faulty> list;
  return list;
}

/// Its twin; of faults that share one with the fault before them, that one. Null if there is none.
inline const Faulty* twin_of(const Faulty& faulty) {
  const auto& all = faulty_kernels();
  const auto at = all.begin() + (&faulty - all.data());
  if (at + 1 != all.end() && (at + 1)->is_right() && (at + 1)->name == faulty.name + "_right") return &*(at + 1);
  for (auto earlier = at; earlier != all.begin() && (earlier - 1)->file == faulty.file; --earlier)
    if ((earlier - 1)->is_right()) {
      const auto same = [](const FaultyBuffer& a, const FaultyBuffer& b) {
        return a.name == b.name && a.bytes == b.bytes;
      };
      const Faulty& twin = *(earlier - 1);
      const bool fits = twin.launch == faulty.launch && std::equal(twin.buffers.begin(), twin.buffers.end(),
                                                                   faulty.buffers.begin(), faulty.buffers.end(), same);
      return fits ? &twin : nullptr;
    }
  return nullptr;
}

/// Adds a faulty kernel and its twin to the list. Returns true, as add_kernel() does.
inline bool add_faulty(Faulty faulty, std::source_location where = std::source_location::current()) {
  faulty.file = where.file_name();
  faulty.file.erase(0, faulty.file.find_last_of('/') + 1);
  Faulty twin = faulty;
  twin.name += "_right";
  twin.findings.clear();
  twin.buffer.clear();
  twin.runs_away = false;
  twin.run = std::exchange(twin.right, nullptr);
  faulty.right = nullptr;
  faulty_kernels().push_back(std::move(faulty));
  if (twin.run) faulty_kernels().push_back(std::move(twin));
  return true;
}

/// For .run and .right: launches a kernel whose parameters are its buffers in their order.
template <typename... Elements>
std::function<void(const Call&)> on_buffers(void (*kernel)(Elements*...)) {
  return [kernel](const Call& call) {
    [&]<std::size_t... I>(std::index_sequence<I...>) { launch(call, kernel, call.operand<Elements>(I)...); }
    (std::index_sequence_for<Elements...>{});
  };
}

}  // namespace rung
