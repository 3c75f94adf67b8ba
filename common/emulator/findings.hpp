/// Describes findings in terms of the source: buffer, element, threads and lines.
#pragma once

#include <optional>

#include "common/emulator/emulator.hpp"
#include "common/emulator/hazards.hpp"

namespace rung {

/// An invalid access by the running thread.
struct FaultyAccess {
  std::uintptr_t address = 0;
  unsigned bytes = 0;
  bool is_store = false;
  std::uintptr_t site = 0;  ///< return address
};

/// Whether shared_array_at() has found the gap between two arrays instead of an array.
bool is_shared_gap(const std::string& name);

// Faults of the running thread.
Finding out_of_bounds(const FaultyAccess& access);
Finding misaligned(const FaultyAccess& access);
/// `data`: the description of the subscript by GCC's -fsanitize=bounds.
Finding bad_subscript(const FaultyAccess& access, const void* data, std::int64_t index);
/// "tiled.cu:27": the place of that subscript.
std::string subscript_place(const void* data);
Finding runaway(std::uintptr_t position);
/// An access that is not one of mem<>; nothing if it may be one: of the program's constants, or of the emulator's own.
std::optional<Finding> plain_access(const FaultyAccess& access);

/// The addresses of shared memory in the hazard checks, the same on every OS thread.
constexpr std::uintptr_t kStaticShared = 1 << 20, kDynamicShared = std::uintptr_t{1} << 40;

/// Describes a hazard of a launch of this shape and kernel.
Finding finding_of(const Hazard& hazard, const Launch& shape, const void* kernel);

}  // namespace rung
