/// The emulator costs the GPU nothing: mem<T> and reg<T> leave no trace in a kernel's machine code. Each kernel here is
/// compiled as the build does and compared, byte for byte, with its hand-written twin in tests/sass/twins.cu.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <ostream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "temporary_folder.hpp"

namespace rung {
namespace {

/// A copy of the T at `offset`; zeros where the file ends before it.
template <typename T>
T read_at(std::string_view file, std::uint64_t offset) {
  T value{};
  if (offset <= file.size() && sizeof(T) <= file.size() - offset) std::memcpy(&value, file.data() + offset, sizeof(T));
  return value;
}

/// The bytes of a part of the file; none where it reaches beyond the end.
std::string_view part(std::string_view file, std::uint64_t offset, std::uint64_t bytes) {
  return offset <= file.size() && bytes <= file.size() - offset ? file.substr(offset, bytes) : "";
}

/// The machine code of the one kernel whose (mangled) name holds `name`, from the sections of a cubin, a 64-bit ELF
/// file with a section for each kernel. Empty if there is none, or more than one, or if the file is damaged.
std::string kernel_code(std::string_view cubin, std::string_view name) {
  const auto header = read_at<Elf64_Ehdr>(cubin, 0);
  if (std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 || header.e_shentsize != sizeof(Elf64_Shdr)) return "";
  const auto section = [&](std::uint64_t i) {
    return read_at<Elf64_Shdr>(cubin, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  const Elf64_Shdr names = section(header.e_shstrndx);
  const std::string_view strings = part(cubin, names.sh_offset, names.sh_size);
  std::vector<std::string> found;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr here = section(i);
    std::string_view title = strings.substr(std::min<std::size_t>(here.sh_name, strings.size()));
    title = title.substr(0, title.find('\0'));
    if (here.sh_type == SHT_PROGBITS && title.starts_with(".text.") && title.find(name) != title.npos)
      found.emplace_back(part(cubin, here.sh_offset, here.sh_size));
  }
  return found.size() == 1 ? found[0] : "";
}

/// Where two kernels part, by instructions of 16 bytes; empty if they are the same.
std::string difference(std::string_view ours, std::string_view twins) {
  if (ours == twins) return "";
  const auto [left, right] = std::mismatch(ours.begin(), ours.end(), twins.begin(), twins.end());
  return "instruction " + std::to_string((left - ours.begin()) / 16) + " is another; " +
         std::to_string(ours.size() / 16) + " and " + std::to_string(twins.size() / 16) + " in all";
}

TEST(Sass, ADamagedCubinHasNoCode) {
  std::string cubin(sizeof(Elf64_Ehdr), '\0');
  EXPECT_EQ(kernel_code("", "k"), "");
  EXPECT_EQ(kernel_code(cubin, ""), "");
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = 0xffff;
  header.e_shoff = ~std::uint64_t{0} - 100;
  header.e_shstrndx = 7;
  std::memcpy(cubin.data(), &header, sizeof header);
  EXPECT_EQ(kernel_code(cubin, ""), "");
}

TEST(Sass, DifferencesAreTold) {
  const std::string code(48, 'a');
  std::string other = code;
  other[33] = 'b';
  EXPECT_EQ(difference(code, code), "");
  EXPECT_EQ(difference(code, other), "instruction 2 is another; 3 and 3 in all");
  EXPECT_EQ(difference(code, code + code), "instruction 3 is another; 3 and 6 in all");
  EXPECT_EQ(difference("", code), "instruction 0 is another; 0 and 3 in all");
}

#ifdef RUNG_NVCC_COMMAND

/// Compiles one source of the tree for the build's GPU, with the build's flags.
std::string cubin_of(const std::string& source) {
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "kernels.cubin").string();
  const std::string command = std::string(RUNG_NVCC_COMMAND) + " -cubin -I'" RUNG_SOURCE_DIR "' '" RUNG_SOURCE_DIR "/" +
                              source + "' -o '" + output + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  return file_text(output);
}

struct Pair {
  std::string source, kernel, twin;
  friend std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.kernel; }
};

class SassOf : public testing::TestWithParam<Pair> {};

TEST_P(SassOf, TheKernelIsThatOfItsTwin) {
  if (std::system(RUNG_NVCC_COMMAND " --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "the compiler that built rung is not on this machine";
  static const std::string twins = cubin_of("tests/sass/twins.cu");
  const std::string ours = kernel_code(cubin_of(GetParam().source), GetParam().kernel);
  const std::string twin = kernel_code(twins, GetParam().twin);
  ASSERT_GE(ours.size(), 16u * 10) << "no one kernel is called " << GetParam().kernel;
  ASSERT_FALSE(twin.empty());
  EXPECT_EQ(difference(ours, twin), "");
  // Another kernel's code is not the same, or the comparison would say nothing.
  EXPECT_NE(difference(ours, kernel_code(twins, GetParam().twin == "twin_naive" ? "twin_tiled" : "twin_naive")), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, SassOf,
                         testing::Values(Pair{"gpu/matmul/naive.cu", "matmul_naive", "twin_naive"},
                                         Pair{"gpu/matmul/tiled.cu", "matmul_tiledILi16E", "twin_tiled"},
                                         Pair{"gpu/matmul/checked.cu", "matmul_checkedILi16E", "twin_checked"},
                                         Pair{"gpu/ceilings/copy_dram.cu", "copy_dramILi4E", "twin_copy"}),
                         [](const auto& info) { return info.param.twin.substr(5); });

#else

TEST(Sass, TheKernelsAreThoseOfTheirTwins) { GTEST_SKIP() << "built without CUDA: no machine code to compare"; }

#endif

}  // namespace
}  // namespace rung
