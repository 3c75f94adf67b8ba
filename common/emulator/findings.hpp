/// Findings in the words of the source: which buffer, which element, which threads, which lines.
#pragma once

#include "common/emulator/emulator.hpp"
#include "common/emulator/hazards.hpp"

namespace rung {

/// An access that the running thread must not make.
struct FaultyAccess {
  std::uintptr_t address = 0;
  unsigned bytes = 0;
  bool is_store = false;
  std::uintptr_t site = 0;  ///< return address
};

/// Whether what shared_array_at() has found is no array but the room between two of them.
bool is_shared_gap(const std::string& name);

// Of the running thread.
Finding out_of_bounds(const FaultyAccess& access);
Finding misaligned(const FaultyAccess& access);
/// `data` is what GCC's -fsanitize=bounds says of the subscript.
Finding bad_subscript(const FaultyAccess& access, const void* data, std::int64_t index);
/// "tiled.cu:27": where that subscript stands.
std::string subscript_place(const void* data);
Finding runaway(std::uintptr_t position);

/// Shared memory as the hazard checks are told of it, the same on every OS thread: static at kStaticShared, dynamic at
/// kDynamicShared.
constexpr std::uintptr_t kStaticShared = 1 << 20, kDynamicShared = std::uintptr_t{1} << 40;

/// What the checks found in a launch of this shape and kernel.
Finding finding_of(const Hazard& hazard, const Launch& shape, const void* kernel);

}  // namespace rung
