#include "common/harness/workload.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rung {
namespace {

constexpr std::size_t kGuardBytes = 1024;

/// The byte of a guard band: another one for each, since a kernel that copies too much copies one guard onto another.
unsigned char guard_byte(std::size_t operand, bool after) {
  return static_cast<unsigned char>(0x51 + 2 * operand + (after ? 1 : 0));
}

std::size_t block_bytes(const Operand& operand) { return operand.bytes() + 2 * kGuardBytes; }

std::string cache_key(const Problem& problem, const Params& sizes, Fill fill, std::uint64_t seed) {
  return problem.name + "/" + sizes.text() + (fill == Fill::integers ? "/integers/" : "/random/") +
         std::to_string(seed);
}

}  // namespace

HostInputs::HostInputs(const Problem& problem, const Params& sizes, Fill fill, std::uint64_t seed) {
  std::vector<void*> pointers;
  for (const Operand& operand : problem.operands(sizes)) {
    const std::size_t rounded = (operand.bytes() + 255) / 256 * 256;
    data_.emplace_back(operand.is_input() ? std::aligned_alloc(256, rounded) : nullptr);
    if (operand.is_input() && !data_.back())
      throw Error("no memory on the host for " + std::to_string(rounded / 1000000) + " MB of " + operand.name);
    bytes_ += operand.is_input() ? rounded : 0;
    pointers.push_back(data_.back().get());
  }
  problem.fill(sizes, fill, seed, pointers);
  judge_ = problem.reference(sizes, fill, seed, {pointers.data(), pointers.size()});
}

std::shared_ptr<const HostInputs> InputCache::get(const Problem& problem, const Params& sizes, Fill fill,
                                                  std::uint64_t seed) {
  const std::string key = cache_key(problem, sizes, fill, seed);
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
    return found->inputs;
  }
  std::size_t kept = 0;
  for (const Entry& entry : entries_) kept += entry.inputs->bytes();
  std::size_t needed = 0;
  for (const Operand& operand : problem.operands(sizes)) needed += operand.is_input() ? operand.bytes() : 0;
  while (!entries_.empty() && kept + needed > limit_bytes_) {
    kept -= entries_.back().inputs->bytes();
    entries_.pop_back();
  }
  entries_.push_front({key, std::make_shared<HostInputs>(problem, sizes, fill, seed)});
  return entries_.front().inputs;
}

Workload::Workload(Target& target, const Kernel& kernel, const Problem& problem, const Params& sizes, Call call)
    : target_(target), kernel_(kernel), operands_(problem.operands(sizes)), call_(std::move(call)) {
  try {
    for (const Operand& operand : operands_) {
      auto* block = static_cast<std::byte*>(target_.allocate(block_bytes(operand)));
      blocks_.push_back(block);
      for (const bool after : {false, true}) {
        const std::vector<unsigned char> guard(kGuardBytes, guard_byte(blocks_.size() - 1, after));
        target_.upload(block + (after ? kGuardBytes + operand.bytes() : 0), guard.data(), kGuardBytes);
      }
      call_.operands.push_back(block + kGuardBytes);
    }
  } catch (...) {
    for (std::byte* block : blocks_) target_.release(block);
    throw;
  }
}

Workload::~Workload() {
  for (std::byte* block : blocks_) target_.release(block);
}

Check Workload::verify(const HostInputs& inputs) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].is_input()) {
      target_.upload(call_.operands[i], inputs.input(i), operands_[i].bytes());
    } else {
      const std::vector<unsigned char> poison(operands_[i].bytes(), kPoisonByte);
      target_.upload(call_.operands[i], poison.data(), poison.size());
    }
  }
  target_.run(kernel_, call_);
  return judge(inputs);
}

Check Workload::recheck(const HostInputs& inputs) {
  if (std::none_of(operands_.begin(), operands_.end(), [](const Operand& o) { return o.is_output && o.is_read; }))
    return judge(inputs);
  Check check{.failure = guard_failure()};
  if (check.failure.empty()) check.failure = input_failure(inputs);
  return check.failure.empty() ? verify(inputs) : check;
}

Check Workload::judge(const HostInputs& inputs) {
  std::vector<std::vector<std::byte>> outputs;
  std::vector<const void*> host;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (!operands_[i].is_output) {
      host.push_back(inputs.input(i));
      continue;
    }
    outputs.emplace_back(operands_[i].bytes());
    target_.download(outputs.back().data(), call_.operands[i], operands_[i].bytes());
    host.push_back(outputs.back().data());
  }
  Check check = inputs.judge(host);
  if (check.failure.empty()) check.failure = guard_failure();
  if (check.failure.empty()) check.failure = input_failure(inputs);
  return check;
}

std::string Workload::guard_failure() {
  std::vector<unsigned char> guard(kGuardBytes);
  for (std::size_t i = 0; i < operands_.size(); ++i)
    for (const bool after : {false, true}) {
      target_.download(guard.data(), blocks_[i] + (after ? kGuardBytes + operands_[i].bytes() : 0), kGuardBytes);
      const auto wrong =
          std::find_if(guard.begin(), guard.end(), [&](unsigned char byte) { return byte != guard_byte(i, after); });
      if (wrong != guard.end())
        return "wrote outside " + operands_[i].name + ", " + std::to_string(wrong - guard.begin()) +
               (after ? " bytes after its end" : " bytes into the guard before its start");
    }
  return "";
}

std::string Workload::input_failure(const HostInputs& inputs) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    if (operands_[i].is_output) continue;
    std::vector<std::byte> now(operands_[i].bytes());
    target_.download(now.data(), call_.operands[i], now.size());
    if (std::memcmp(now.data(), inputs.input(i), now.size()) != 0) return "changed its input " + operands_[i].name;
  }
  return "";
}

std::size_t workload_bytes(const Problem& problem, const Params& sizes) {
  std::size_t bytes = 0;
  for (const Operand& operand : problem.operands(sizes)) bytes += block_bytes(operand);
  return bytes;
}

}  // namespace rung
