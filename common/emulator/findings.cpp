#include "common/emulator/findings.hpp"

#include <algorithm>
#include <limits>
#include <string>

#include "common/emulator/block.hpp"
#include "common/emulator/device_memory.hpp"
#include "common/emulator/symbols.hpp"
#include "common/machine/target.hpp"

namespace rung {
namespace {

// What GCC passes to its sanitizer runtime; the layout is part of its ABI.
struct SubscriptLocation {
  const char* file;
  std::uint32_t line, column;
};
struct TypeDescription {
  std::uint16_t kind, info;
  char name[1];  ///< "'mem [16][16]'"
};
struct SubscriptData {
  SubscriptLocation location;
  const TypeDescription* array_type;
  const TypeDescription* index_type;
};

std::string at(const std::string& place) { return " at " + place; }

std::string verb(bool is_store, Actor actor = Actor::thread) {
  if (actor == Actor::atomic) return "atomic";
  if (actor == Actor::tensor_core) return "read by a tensor core";
  return std::string(is_store ? "write" : "read") + (actor == Actor::copier ? " by TMA" : "");
}

std::string plural(std::int64_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

/// Sets the finding's buffer of global memory, and the index in it in elements of the access's size.
void name_global(Finding& finding, std::uintptr_t address, unsigned bytes) {
  const Allocation buffer = nearest_allocation(address);
  if (buffer.begin == 0) {
    finding.buffer = "no buffer";
    return;
  }
  finding.buffer =
      buffer.name.empty() ? "a buffer of " + plural(static_cast<std::int64_t>(buffer.bytes), "byte") : buffer.name;
  const auto offset = static_cast<std::int64_t>(address - buffer.begin);
  finding.index = offset < 0 ? -((-offset + bytes - 1) / bytes) : offset / bytes;
}

void name_dynamic_shared(Finding& finding, std::int64_t offset, unsigned bytes) {
  finding.buffer = "dynamic shared memory";
  finding.index = offset / static_cast<std::int64_t>(bytes);
}

/// "[16][16]" of "'mem [16][16]'": the extents of an array, outermost first.
std::vector<std::int64_t> extents_of(const std::string& type) {
  std::vector<std::int64_t> extents;
  for (std::size_t i = type.find('['); i != std::string::npos; i = type.find('[', i + 1))
    extents.push_back(std::strtoll(type.c_str() + i + 1, nullptr, 10));
  return extents;
}

}  // namespace

std::string Finding::text() const {
  std::string out = std::string(kind) + ": ";
  if (!buffer.empty()) out += buffer + "[" + std::to_string(index) + "], ";
  out += first;
  if (!second.empty()) out += "; " + second;
  if (occurrences > 1) out += " (" + std::to_string(occurrences) + " times)";
  return out;
}

constexpr const char* kNoVariables =
    "the emulator has no __device__ variables: make it an operand, or scratch of the kernel's record";

bool is_shared_gap(const std::string& name) { return name.starts_with("rung_gap_"); }

namespace {

/// An access just past the end of a static shared array, which is found by the preceding address.
Finding beyond_shared_array(const FaultyAccess& access) {
  const SharedArray array = shared_array_at(access.address - access.bytes, trace.static_shared.begin,
                                            BlockRunner::of_this_thread().launch().kernel);
  const bool is_known = !array.name.empty() && !is_shared_gap(array.name);
  return {.kind = finding_kind::out_of_bounds,
          .buffer = is_known ? array.name : "shared memory",
          .index = is_known ? static_cast<std::int64_t>(array.offset / access.bytes) + 1 : 0,
          .first = BlockRunner::of_this_thread().text_of_running() + ", " + verb(access.is_store) + " of " +
                   plural(access.bytes, "byte") + " beyond the array" + at(line_of(access.site).short_text())};
}

}  // namespace

namespace {

/// Bytes between the address and the range; 0 within it, the most there are if there is no range.
std::uint64_t distance_to(AddressRange range, std::uintptr_t address) {
  if (range.bytes == 0) return std::numeric_limits<std::uint64_t>::max();
  if (address < range.begin) return range.begin - address;
  return range.holds(address) ? 0 : address - range.begin - range.bytes + 1;
}

/// Whether an overrun of the range may have led there; what is farther away has nothing to do with it.
bool is_near(AddressRange range, std::uintptr_t address) {
  constexpr std::uint64_t kNear = 4096;
  return distance_to(range, address) <= std::max<std::uint64_t>(kNear, range.bytes);
}

/// Whether it is on the stack of the running thread of the kernel, on which this is called.
bool is_on_the_stack(std::uintptr_t address) {
  constexpr std::uintptr_t kWithin = 64 << 10;
  return address - reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) < kWithin;
}

/// Names the variable that the address is beyond; returns how far past its end, or another explanation.
std::string name_overrun(Finding& finding, const FaultyAccess& access) {
  if (is_on_the_stack(access.address))
    return ", in the thread's own memory: declare its variables as reg<T>, not mem<T>,";
  const Allocation allocation = nearest_allocation(access.address);
  const AddressRange buffer{allocation.begin, allocation.bytes};
  const bool is_dynamic = distance_to(trace.dynamic_shared, access.address) < distance_to(buffer, access.address);
  const AddressRange nearest = is_dynamic ? trace.dynamic_shared : buffer;
  if (!is_near(nearest, access.address)) return ", an address far from every variable,";
  if (is_dynamic)
    name_dynamic_shared(finding, static_cast<std::int64_t>(access.address - nearest.begin), access.bytes);
  else
    name_global(finding, access.address, access.bytes);
  const auto past = static_cast<std::int64_t>(access.address - nearest.begin - nearest.bytes);
  return past >= 0 ? ", " + plural(past, "byte") + " past its end" : "";
}

}  // namespace

Finding out_of_bounds(const FaultyAccess& access) {
  if (trace.static_shared.holds(access.address)) return beyond_shared_array(access);
  if (const SharedArray variable = static_variable_at(access.address); !variable.name.empty())
    return {.kind = finding_kind::not_emulated,
            .buffer = variable.name,
            .index = static_cast<std::int64_t>(variable.offset / access.bytes),
            .first = BlockRunner::of_this_thread().text_of_running() + ", " + verb(access.is_store) + " of " +
                     plural(access.bytes, "byte") + at(line_of(access.site).short_text()) + ": " + kNoVariables};
  Finding finding{.kind = finding_kind::out_of_bounds};
  const std::string where = name_overrun(finding, access);
  finding.first = BlockRunner::of_this_thread().text_of_running() + ", " + verb(access.is_store) + " of " +
                  plural(access.bytes, "byte") + where + at(line_of(access.site).short_text());
  return finding;
}

Finding misaligned(const FaultyAccess& access) {
  Finding finding{.kind = finding_kind::misaligned_access};
  if (trace.dynamic_shared.holds(access.address)) {
    name_dynamic_shared(finding, static_cast<std::int64_t>(access.address - trace.dynamic_shared.begin), access.bytes);
  } else if (trace.static_shared.holds(access.address)) {
    const SharedArray array =
        shared_array_at(access.address, trace.static_shared.begin, BlockRunner::of_this_thread().launch().kernel);
    finding.buffer = array.name;
    finding.index = static_cast<std::int64_t>(array.offset / access.bytes);
  } else {
    name_global(finding, access.address, access.bytes);
  }
  finding.first = BlockRunner::of_this_thread().text_of_running() + ", " + verb(access.is_store) + " of " +
                  plural(access.bytes, "byte") + at(line_of(access.site).short_text());
  return finding;
}

std::string subscript_place(const void* data) {
  const SubscriptLocation& location = static_cast<const SubscriptData*>(data)->location;
  const std::string path = location.file ? location.file : "?";
  return path.substr(path.find_last_of('/') + 1) + ":" + std::to_string(location.line);
}

/// The compiler supplies the array's type and the index; the array is found by the address, moved back inside it.
Finding bad_subscript(const FaultyAccess& access, const void* data, std::int64_t index) {
  const auto& subscript = *static_cast<const SubscriptData*>(data);
  const std::string type = subscript.array_type->name;
  const std::vector<std::int64_t> extents = extents_of(type);
  const std::int64_t extent = extents.empty() ? 0 : extents.front();
  std::int64_t stride = access.bytes;
  for (std::size_t i = 1; i < extents.size(); ++i) stride *= extents[i];
  const std::int64_t inside = std::clamp<std::int64_t>(index, 0, std::max<std::int64_t>(extent - 1, 0));
  const std::uintptr_t moved = access.address - static_cast<std::uintptr_t>((index - inside) * stride);

  Finding finding{.kind = finding_kind::out_of_bounds, .index = index};
  if (trace.static_shared.holds(moved))
    finding.buffer =
        shared_array_at(moved, trace.static_shared.begin, BlockRunner::of_this_thread().launch().kernel).name;
  if (finding.buffer.empty()) finding.buffer = "an array";
  finding.first = BlockRunner::of_this_thread().text_of_running() + ", subscript " + std::to_string(index) + " of " +
                  std::to_string(extent) + at(subscript_place(data));
  return finding;
}

namespace {

/// What a plain access is of, by the finding's buffer and index, and what to write instead; empty if it may be plain.
std::string name_plain(Finding& finding, const FaultyAccess& access) {
  const BlockRunner& runner = BlockRunner::of_this_thread();
  const auto name = [&](const SharedArray& variable) {
    finding.buffer = variable.name;
    finding.index = static_cast<std::int64_t>(variable.offset / access.bytes);
  };
  const auto& buffers = runner.launch().buffers;
  const auto holds = [&](const Allocation& buffer) { return buffer.holds(access.address); };
  if (std::any_of(buffers.begin(), buffers.end(), holds)) {
    name_global(finding, access.address, access.bytes);
    return "point to mem<T>, not to T; vector_cast<float4>() gives other types of elements";
  }
  if (trace.dynamic_shared.holds(access.address)) {
    name_dynamic_shared(finding, static_cast<std::int64_t>(access.address - trace.dynamic_shared.begin), access.bytes);
    return "write dynamic_shared<mem<T>>()";
  }
  if (trace.static_shared.holds(access.address)) {
    const SharedArray array = shared_array_at(access.address, trace.static_shared.begin, runner.launch().kernel);
    if (array.name.starts_with("rung_")) return "";  // threadIdx and its like, where they are not taken for constants
    if (array.name.empty()) return "declare it as __shared__ mem<T>";
    name(array);
    return "declare it as __shared__ mem<T> " + array.name;
  }
  if (constant_memory().holds(access.address)) {
    name(static_variable_at(access.address));
    return "declare it as __constant__ mem<T> " + finding.buffer;
  }
  if (is_on_device_heap(access.address)) {
    finding.buffer = "the heap";
    return "point to mem<T>, not to T";
  }
  if (is_read_only(access.address)) return "";
  const SharedArray variable = static_variable_at(access.address);
  if (variable.name.empty()) {  // of the host: a message of the emulator's headers, or a stray pointer
    const Allocation buffer = nearest_allocation(access.address);
    const bool is_near = buffer.begin && access.address + kGuardBytes - buffer.begin < buffer.bytes + 2 * kGuardBytes;
    if (!is_near) return "";
    name_global(finding, access.address, access.bytes);
    return "point to mem<T>, not to T, and into an operand";
  }
  name(variable);
  return kNoVariables;
}

}  // namespace

std::optional<Finding> plain_access(const FaultyAccess& access) {
  Finding finding{.kind = finding_kind::without_mem};
  const std::string instead = name_plain(finding, access);
  if (instead.empty()) return {};
  finding.first = BlockRunner::of_this_thread().text_of_running() + ", " + verb(access.is_store) + " of " +
                  plural(access.bytes, "byte") + at(line_of(access.site).short_text()) + ": " + instead;
  return finding;
}

Finding runaway(std::uintptr_t position) {
  const BlockRunner& runner = BlockRunner::of_this_thread();
  return {.kind = finding_kind::runaway,
          .first = runner.text_of_running() + " is still running after its block has executed " +
                   std::to_string(runner.launch().options.budget) + " basic blocks, at " +
                   line_of_running(position).short_text() + ": does the loop terminate? (--budget raises the limit)"};
}

Finding finding_of(const Hazard& hazard, const Launch& shape, const void* kernel) {
  Finding finding{.kind = hazard.kind, .occurrences = hazard.occurrences};
  if (!hazard.is_shared) {
    name_global(finding, hazard.address, hazard.bytes);
  } else if (hazard.address >= kDynamicShared) {
    name_dynamic_shared(finding, static_cast<std::int64_t>(hazard.address - kDynamicShared), hazard.bytes);
  } else {
    const SharedArray array = shared_array_at(hazard.address, kStaticShared, kernel);
    finding.buffer = array.name.empty() ? "shared memory" : array.name;
    finding.index = static_cast<std::int64_t>(array.offset / hazard.bytes);
  }
  const auto side_text = [&](const HazardSide& side) {
    return text_of_thread(shape, side.block, side.thread) + ", " + verb(side.is_store, side.actor) +
           at(line_of(side.site).short_text());
  };
  finding.first = side_text(hazard.first.site ? hazard.first : hazard.second);
  if (hazard.first.site) finding.second = side_text(hazard.second);
  return finding;
}

}  // namespace rung
