/// The emulator costs the GPU nothing: mem<T> and reg<T> leave no trace in a kernel's machine code. Each kernel here is
/// compiled as the build does and compared, byte for byte, with its hand-written twin in tests/gpu/twins.cu.
#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <map>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "common/source_dir.hpp"
#include "tests/temporary_folder.hpp"

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

/// The machine code of the one kernel whose (mangled) name holds `name` and `other`, from the sections of a cubin, a
/// 64-bit ELF file with a section for each kernel. Empty if there is none, or more than one, or if the file is damaged.
std::string kernel_code(std::string_view cubin, std::string_view name, std::string_view other = "") {
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
    if (here.sh_type == SHT_PROGBITS && title.starts_with(".text.") && title.find(name) != title.npos &&
        title.find(other) != title.npos)
      found.emplace_back(part(cubin, here.sh_offset, here.sh_size));
  }
  return found.size() == 1 ? found[0] : "";
}

/// The first difference of two kernels, by instructions of 16 bytes; empty if they are the same.
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

/// The output of `compiler`, with its flags, for one source of the tree; compiled once.
[[maybe_unused]] std::string cubin_of(const std::string& compiler, const std::string& source) {
  static std::map<std::string, std::string> known;
  std::string& cubin = known[compiler + source];
  if (!cubin.empty()) return cubin;
  const TemporaryFolder folder;
  const std::string output = (folder.path() / "kernels.cubin").string();
  const std::string command = compiler + " -cubin -I'" + source_dir().string() + "' '" +
                              (source_dir() / source).string() + "' -o '" + output + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
  return cubin = file_text(output);
}

// --- the main loop of a kernel ----------------------------------------------------------------------------------

/// The instructions of compute capability 7.0 to 9.0, by the low 12 bits of their 16 bytes.
enum Opcode : unsigned {
  kFfma = 0x223,
  kLoadShared = 0x984,
  kLoadLocal = 0x983,
  kStoreLocal = 0x387,
  kHgmma = 0x9f0,  // a warpgroup's product in 16 bits or TF32
  kIgmma = 0x9f1,  // INT8
  kQgmma = 0x9f3   // FP8
};

struct Instruction {
  unsigned opcode, target, first, second, third;  // registers
  unsigned kept = 0;  // of first, second and third, a bit each: those that the next instruction has without a read
};

std::vector<Instruction> instructions(std::string_view code) {
  std::vector<Instruction> all;
  for (std::size_t at = 0; at + 16 <= code.size(); at += 16) {
    const auto low = read_at<std::uint64_t>(code, at), high = read_at<std::uint64_t>(code, at + 8);
    all.push_back({unsigned(low & 0xfff), unsigned(low >> 16 & 0xff), unsigned(low >> 24 & 0xff),
                   unsigned(low >> 32 & 0xff), unsigned(high & 0xff), unsigned(high >> 58 & 7)});
  }
  return all;
}

long number_of(Opcode opcode, const std::vector<Instruction>& code) {
  return std::count_if(code.begin(), code.end(), [&](const Instruction& i) { return i.opcode == opcode; });
}

/// The longest stretch in which an FFMA is never more than 12 instructions away, as in a product's loop.
std::vector<Instruction> main_loop(const std::vector<Instruction>& code) {
  std::size_t best_begin = 0, best_end = 0, begin = 0, last = 0;
  bool inside = false;
  for (std::size_t i = 0; i < code.size(); ++i) {
    if (code[i].opcode != kFfma) continue;
    if (!inside || i - last > 12) begin = i;
    inside = true;
    last = i;
    if (last + 1 - begin > best_end - best_begin) best_begin = begin, best_end = last + 1;
  }
  return {code.begin() + static_cast<long>(best_begin), code.begin() + static_cast<long>(best_end)};
}

/// The share of registers loaded from shared memory that an FFMA reads before 32 others have been issued, so that it
/// has to wait.
double hasty_share(const std::vector<Instruction>& loop) {
  std::array<long, 256> loaded_at{};  // FFMAs before it; -1: used since, or never loaded
  loaded_at.fill(-1);
  long ffmas = 0, uses = 0, hasty = 0;
  for (const Instruction& i : loop) {
    if (i.opcode == kLoadShared)
      for (unsigned r = i.target; r < std::min(i.target + 4, 255u); ++r) loaded_at[r] = ffmas;
    if (i.opcode != kFfma) continue;
    for (const unsigned r : {i.first, i.second, i.third})
      if (const long at = std::exchange(loaded_at[r], -1); at >= 0) ++uses, hasty += ffmas - at < 32;
    ++ffmas;
  }
  return uses == 0 ? 1 : static_cast<double>(hasty) / static_cast<double>(uses);
}

/// The share of FFMAs that read three registers of the same one of the two banks: each costs one more cycle. The
/// compiler avoids them only while it has free registers.
double conflict_share(const std::vector<Instruction>& loop) {
  constexpr unsigned kNone = 255;  // RZ, which is not read
  long ffmas = 0, conflicts = 0;
  std::array<unsigned, 3> kept{kNone, kNone, kNone};
  for (const Instruction& i : loop) {
    const std::array<unsigned, 3> sources = {i.first, i.second, i.third};
    if (i.opcode == kFfma) {
      std::array<std::set<unsigned>, 2> read;
      for (std::size_t s = 0; s < 3; ++s)
        if (sources[s] != kNone && sources[s] != kept[s]) read[sources[s] % 2].insert(sources[s]);
      ++ffmas, conflicts += read[0].size() > 2 || read[1].size() > 2;
    }
    for (std::size_t s = 0; s < 3; ++s)
      if (i.opcode != kLoadShared) kept[s] = i.kept >> s & 1 ? sources[s] : kNone;
  }
  return ffmas == 0 ? 1 : static_cast<double>(conflicts) / static_cast<double>(ffmas);
}

TEST(MainLoop, ThreeRegistersOfOneBankAreAConflict) {
  const Instruction clear{kFfma, 1, 2, 3, 4}, conflict{kFfma, 8, 2, 4, 8}, keeps{kFfma, 1, 2, 3, 4, 1};
  EXPECT_EQ(conflict_share({clear, conflict}), 0.5);
  EXPECT_EQ(conflict_share({keeps, conflict}), 0);
  EXPECT_EQ(conflict_share({clear, {kFfma, 2, 2, 4, 2}}), 0) << "one register twice is read once";
  EXPECT_EQ(conflict_share({}), 1) << "no FFMA";
}

TEST(MainLoop, InstructionsAreOf16Bytes) {
  const std::uint64_t words[] = {0x0000000806047223, 0x7, 0x0000000000007387, 0};  // FFMA R4, R6, R8, R7 and STL
  const std::vector<Instruction> code = instructions({reinterpret_cast<const char*>(words), sizeof words});
  ASSERT_EQ(code.size(), 2u);
  EXPECT_EQ(number_of(kFfma, code), 1);
  EXPECT_EQ(number_of(kStoreLocal, code), 1);
  EXPECT_EQ(number_of(kLoadLocal, code), 0);
  EXPECT_EQ(code[0].target, 4u);
  EXPECT_EQ(code[0].first, 6u);
  EXPECT_EQ(code[0].second, 8u);
  EXPECT_EQ(code[0].third, 7u);
  EXPECT_TRUE(instructions(std::string(15, 'a')).empty());
}

TEST(MainLoop, IsTheLongestStretchOfFfmas) {
  const Instruction ffma{kFfma, 1, 2, 3, 1}, other{0x947, 0, 0, 0, 0};
  std::vector<Instruction> code(3, ffma);
  code.insert(code.end(), 20, other);
  code.insert(code.end(), 5, ffma);
  code.insert(code.end(), 12, other);
  EXPECT_EQ(main_loop(code).size(), 5u);
  code.back() = ffma;
  EXPECT_EQ(main_loop(code).size(), 5u + 12u);
  EXPECT_TRUE(main_loop({}).empty());
}

TEST(MainLoop, AReadRightBeforeItsUseIsHasty) {
  const Instruction load{kLoadShared, 8, 0, 0, 0}, use{kFfma, 1, 8, 3, 1}, other{kFfma, 1, 2, 3, 1};
  std::vector<Instruction> code = {load, use};
  EXPECT_EQ(hasty_share(code), 1);
  code.insert(code.begin() + 1, 32, other);
  EXPECT_EQ(hasty_share(code), 0);
  EXPECT_EQ(hasty_share({other}), 1) << "nothing was read";
}

#ifdef RUNG_HOPPER_NVCC_COMMAND

struct Loop {
  std::string kernel;
  double ffma_share, hasty_share;
};

/// A source and its kernels, all in one test, since compiling takes the longest.
struct Tuned {
  std::string source;
  std::vector<Loop> loops;
  friend std::ostream& operator<<(std::ostream& out, const Tuned& tuned) { return out << tuned.source; }
};

class HopperSass : public testing::TestWithParam<Tuned> {};

/// ptxas keeps the order of these loops only at -O1, and another ptxas may not: then the reads of shared memory come
/// right before their use, and a tenth of the speed is gone.
TEST_P(HopperSass, TheLoopsHoldFfmasAndNothingIsSpilled) {
  if (std::system(RUNG_HOPPER_NVCC_COMMAND " --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "the compiler that built rung is not on this machine";
  const std::string cubin = cubin_of(RUNG_HOPPER_NVCC_COMMAND, GetParam().source);
  for (const auto& [kernel, ffma_share, most_hasty] : GetParam().loops)
    for (const std::string operand : {"CUtensorMap_st", "AnyMatrix"}) {  // all tiles loaded by TMA, or some copied
      SCOPED_TRACE(kernel + " " + operand);
      const std::vector<Instruction> code = instructions(kernel_code(cubin, "matmul_hopperINS0_" + kernel, operand));
      ASSERT_FALSE(code.empty()) << "no one kernel has this tile";
      EXPECT_EQ(number_of(kLoadLocal, code), 0);
      EXPECT_EQ(number_of(kStoreLocal, code), 0);
      const std::vector<Instruction> loop = main_loop(code);
      EXPECT_GE(static_cast<double>(number_of(kFfma, loop)), ffma_share * static_cast<double>(loop.size()));
      EXPECT_LE(hasty_share(loop), most_hasty);
      EXPECT_LE(conflict_share(loop), 0.002);
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, HopperSass,
                         testing::Values(Tuned{"gpu/matmul/tma/tma.sm90a.O1.cu", {{"11Tile128x256", 0.93, 0.02}}},
                                         Tuned{"gpu/matmul/tma/stream_k.sm90a.O1.cu", {{"11Tile128x256", 0.93, 0.02}}},
                                         Tuned{"gpu/matmul/tma/top.sm90a.O1.cu",
                                               {{"11Tile128x128", 0.92, 0.02},
                                                {"10Tile128x64", 0.92, 0.02},
                                                {"10Tile64x128", 0.92, 0.02},
                                                {"9Tile64x32", 0.6, 1.0},
                                                {"9Tile32x32", 0.75, 1.0}}}),
                         [](const auto& info) {
                           const std::string file = info.param.source.substr(info.param.source.rfind('/') + 1);
                           return file.substr(0, file.find('.'));
                         });

#else

TEST(HopperSass, TheLoopsHoldFfmasAndNothingIsSpilled) {
  GTEST_SKIP() << "built without code for sm_90a: no machine code to look at";
}

#endif

#ifdef RUNG_TENSOR_NVCC_COMMAND

struct TypedTile {
  std::string name;  // the number of its columns, and what follows it in the kernel's name
  int products = 4;  // in the loop
};

/// A rung and its tiles, all in one test, since compiling takes the longest.
struct Typed {
  std::string rung;
  Opcode product;
  std::vector<TypedTile> tiles;
  friend std::ostream& operator<<(std::ostream& out, const Typed& typed) { return out << typed.rung; }
};

class TensorSass : public testing::TestWithParam<Typed> {};

/// A kernel that the compiler serialised or spilled would be right as well, only slow.
TEST_P(TensorSass, MultipliesInItsTypeAndSpillsNothing) {
  if (std::system(RUNG_TENSOR_NVCC_COMMAND " --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "the compiler that built rung is not on this machine";
  const auto& [rung, product, tiles] = GetParam();
  const std::string cubin = cubin_of(RUNG_TENSOR_NVCC_COMMAND, "gpu/matmul/" + rung + ".sm90a.cu");
  for (const auto& [tile, products] : tiles) {
    SCOPED_TRACE(tile);
    const std::vector<Instruction> code = instructions(kernel_code(cubin, tile));
    ASSERT_FALSE(code.empty()) << "no one kernel has this tile";
    for (const Opcode one : {kHgmma, kIgmma, kQgmma}) EXPECT_EQ(number_of(one, code), one == product ? products : 0);
    EXPECT_EQ(number_of(kLoadLocal, code), 0);
    EXPECT_EQ(number_of(kStoreLocal, code), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Kernels, TensorSass,
    testing::Values(
        Typed{"wgmma/top_int8", kIgmma, {{"Li256ELi1ELi4ELb0E"}, {"Li192ELi1ELi4ELb0E"}}},
        Typed{"wgmma/top_fp8", kQgmma, {{"Li256ELi1ELi0ELb0E", 8}, {"Li192ELi1ELi0ELb0E"}, {"Li128ELi1ELi0ELb0E"}}},
        Typed{"wgmma/top_tf32", kHgmma, {{"Li256ELi1ELi4ELb0E"}, {"Li192ELi1ELi4ELb0E"}}},
        Typed{"accuracy/3xtf32", kHgmma, {{"Li192ELi1ELi0ELb0E", 6}}},
        Typed{"accuracy/bf16x6", kHgmma, {{"Li192ELi1ELi0ELb0E", 6}, {"Li128ELi1ELi0ELb0E", 6}}},
        Typed{"accuracy/bf16x9", kHgmma, {{"Li192ELi1ELi0ELb0E", 9}}},
        Typed{"accuracy/fp16x3", kHgmma, {{"Li192ELi1ELi0ELb0E", 12}}},
        Typed{"accuracy/int8_slices", kIgmma, {{"Li192ELi1ELi0ELb0E"}, {"Li128ELi1ELi0ELb0E"}}}),
    [](const auto& info) { return info.param.rung.substr(info.param.rung.find('/') + 1); });

#else

TEST(TensorSass, MultipliesInItsTypeAndSpillsNothing) {
  GTEST_SKIP() << "built without code for sm_90a: no machine code to look at";
}

#endif

#ifdef RUNG_NVCC_COMMAND

struct Pair {
  std::string source, kernel, twin;
  friend std::ostream& operator<<(std::ostream& out, const Pair& pair) { return out << pair.kernel; }
};

class SassOf : public testing::TestWithParam<Pair> {};

TEST_P(SassOf, TheKernelIsThatOfItsTwin) {
  if (std::system(RUNG_NVCC_COMMAND " --version >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "the compiler that built rung is not on this machine";
  static const std::string twins = cubin_of(RUNG_NVCC_COMMAND, "tests/gpu/twins.cu");
  const std::string ours = kernel_code(cubin_of(RUNG_NVCC_COMMAND, GetParam().source), GetParam().kernel);
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
