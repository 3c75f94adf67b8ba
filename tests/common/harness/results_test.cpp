#include "common/harness/results.hpp"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <array>

namespace rung {
namespace {

/// CRC-32 by its table, after ISO 3309.
std::uint32_t crc32(const std::string& text) {
  std::array<std::uint32_t, 256> table;
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = table[i] & 1 ? 0xEDB88320u ^ table[i] >> 1 : table[i] >> 1;
  }
  std::uint32_t rest = 0xFFFFFFFFu;
  for (const unsigned char c : text) rest = table[(rest ^ c) & 255] ^ rest >> 8;
  return ~rest;
}

TEST(Results, HaveTheChecksumOfTheirTextWithZerosInItsPlace) {
  ASSERT_EQ(crc32("123456789"), 0xCBF43926u);
  std::string text = results_text({{"note", "\"checksum\": \"crc32 00000000\""}, {"seed", 1}}, {{{"name", "a"}}});
  const std::string sum = Json::parse(text)["context"]["checksum"];
  ASSERT_EQ(sum.size(), 14u);
  text.replace(text.rfind(sum), sum.size(), "crc32 00000000");
  EXPECT_EQ(sum, fmt::format("crc32 {:08x}", crc32(text)));
}

}  // namespace
}  // namespace rung
