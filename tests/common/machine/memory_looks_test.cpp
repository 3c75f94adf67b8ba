/// A target compares its memory without copying it to the host, and detects any byte that differs.
#include <gtest/gtest.h>

#include <vector>

#include "common/machine/target.hpp"

namespace rung {
namespace {

constexpr std::size_t kMegabyte = std::size_t{1} << 20;
constexpr std::size_t kSizes[] = {1, 15, 16, 17, 255, 4097, kMegabyte + 1, 3 * kMegabyte + 5, 40 * kMegabyte + 24};

/// Calls test(target, name) for the host, and for the GPU where there is one.
template <typename Test>
void on_each_target(const Test& test) {
  test(*open_host(), "host");
  if (const GpuTarget gpu = open_gpu(0); gpu.target) test(*gpu.target, "GPU");
}

/// A buffer between guard bands, as a kernel's operands are.
class Buffer {
 public:
  Buffer(Target& target, std::size_t bytes)
      : target_(target),
        memory_(static_cast<std::byte*>(
            target.allocate_guarded({.name = "x", .elements = bytes, .type = Type::int8, .role = Role::output}))) {}
  ~Buffer() { target_.release_guarded(memory_); }
  Buffer(const Buffer&) = delete;
  std::byte* at(std::size_t place) { return memory_ + place; }
  void set(std::size_t place, unsigned char byte) { target_.upload(at(place), &byte, 1); }

 private:
  Target& target_;
  std::byte* memory_;
};

TEST(MemoryLooks, FindsEveryByteThatIsNotTheOneAskedFor) {
  on_each_target([](Target& target, const std::string& name) {
    for (const std::size_t bytes : kSizes) {
      Buffer buffer(target, bytes);
      target.poison(buffer.at(0), bytes, 0xFF);
      EXPECT_TRUE(target.is_filled(buffer.at(0), bytes, 0xFF)) << name << ", " << bytes;
      EXPECT_FALSE(target.is_filled(buffer.at(0), bytes, 0xFE)) << name << ", " << bytes;
      for (const std::size_t place : {std::size_t{0}, bytes / 2, bytes - 1}) {
        buffer.set(place, 0x7F);
        EXPECT_FALSE(target.is_filled(buffer.at(0), bytes, 0xFF)) << name << ", " << place << " of " << bytes;
        buffer.set(place, 0xFF);
      }
      EXPECT_TRUE(target.is_filled(buffer.at(0), bytes, 0xFF)) << name << ", " << bytes;
    }
  });
}

TEST(MemoryLooks, AFingerprintChangesWithAnyByteAndWithItsPlace) {
  on_each_target([](Target& target, const std::string& name) {
    for (const std::size_t bytes : kSizes) {
      std::vector<unsigned char> data(bytes);
      for (std::size_t i = 0; i < bytes; ++i) data[i] = static_cast<unsigned char>(i * 7 + i / 251);
      Buffer buffer(target, bytes);
      target.upload(buffer.at(0), data.data(), bytes);
      const auto print = target.fingerprint(buffer.at(0), bytes);
      if (!print) continue;  // holds() is as fast
      for (const std::size_t place : {std::size_t{0}, bytes / 3, bytes - 1}) {
        buffer.set(place, static_cast<unsigned char>(data[place] ^ 1));
        EXPECT_NE(target.fingerprint(buffer.at(0), bytes), print) << name << ", " << place << " of " << bytes;
        buffer.set(place, data[place]);
      }
      EXPECT_EQ(target.fingerprint(buffer.at(0), bytes), print) << name << ", " << bytes;
      target.upload(buffer.at(0), data.data() + 16, 16);  // two neighbours change places
      target.upload(buffer.at(16), data.data(), 16);
      EXPECT_NE(target.fingerprint(buffer.at(0), bytes), print) << name << ", " << bytes;
    }
  });
}

}  // namespace
}  // namespace rung
