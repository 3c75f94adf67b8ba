/// Lines of code and names of shared arrays, from addresses: of this program, of made-up files, of hostile tools.
#include "common/emulator/symbols.hpp"

#include <elf.h>
#include <gtest/gtest.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <thread>

#include "tests/emulator/emulator_support.hpp"
#include "tests/temporary_folder.hpp"

namespace rung {
namespace {

bool has_addr2line() { return std::system("addr2line --version >/dev/null 2>&1") == 0; }

/// Another PATH for the time of a test.
class SearchPath {
 public:
  explicit SearchPath(const std::string& folders) : before_(getenv("PATH")) { setenv("PATH", folders.c_str(), 1); }
  ~SearchPath() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

// ---- Lines ----

constexpr int kCopyLine = __LINE__ + 4;
__global__ void scale_through_tile(const mem<float>* from, mem<float>* to, int n) {
  __shared__ mem<float> tile[32];
  const int i = threadIdx.x;
  if (i < n) tile[i] = from[i];
  __syncthreads();
  reg<float> sum = 0;
  for (int k = 0; k < 4; ++k) sum += tile[(i + k) % 32] * 3.0f;
  if (i < n) to[i] = sum;
}

TEST(SymbolsLines, AccessesAreToldAtTheKernelsOwnLines) {
  if (!has_addr2line()) GTEST_SKIP() << "there is no addr2line";
  Array<float> from(32), to(32);
  const Counts n = counted(kOneWarp, {}, scale_through_tile, from.on_device(), to.on_device(), 32);
  ASSERT_EQ(n.sites.size(), 4u);
  std::vector<std::uintptr_t> addresses;
  for (const SiteCounts& site : n.sites) addresses.push_back(site.address);
  const std::vector<SourceLine> lines = lines_of(addresses);
  ASSERT_EQ(lines.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    const SiteCounts& site = n.sites[i];
    const int expected =
        site.is_shared ? (site.is_store ? kCopyLine : kCopyLine + 3) : (site.is_store ? kCopyLine + 4 : kCopyLine);
    EXPECT_EQ(lines[i].line, expected);
    EXPECT_EQ(lines[i].short_text(), "symbols_test.cpp:" + std::to_string(expected));
    EXPECT_EQ(line_of(site.address), lines[i]);
  }
}

TEST(SymbolsLines, NoCodeNoLine) {
  int local = 0;
  const std::vector<std::uintptr_t> addresses{0, 1, ~std::uintptr_t{0}, reinterpret_cast<std::uintptr_t>(&local)};
  for (const SourceLine& line : lines_of(addresses)) {
    EXPECT_EQ(line.file, "");
    EXPECT_EQ(line.line, 0);
    EXPECT_EQ(line.short_text(), "?");
  }
  EXPECT_TRUE(lines_of({}).empty());
}

/// An address in this program that no other test uses.
std::uintptr_t fresh_address() {
  static std::uintptr_t used = 0;
  return reinterpret_cast<std::uintptr_t>(&scale_through_tile) + 20000 + ++used;
}

TEST(SymbolsLines, WithoutAddr2lineLinesAreEmpty) {
  TemporaryFolder folder;
  const SearchPath path(folder.path());
  EXPECT_EQ(line_of(fresh_address()).short_text(), "?");
  const std::vector<std::uintptr_t> several{fresh_address(), fresh_address()};
  EXPECT_EQ(lines_of(several).size(), 2u);
}

/// The lines of `count` fresh addresses when addr2line is this shell script.
std::vector<SourceLine> told_by(const std::string& script, std::size_t count) {
  TemporaryFolder folder;
  const auto tool = folder.write("addr2line", "#!/bin/sh\n" + script + "\n");
  chmod(tool.c_str(), 0700);
  const SearchPath path(folder.path().string() + ":/bin:/usr/bin");
  std::vector<std::uintptr_t> addresses;
  for (std::size_t i = 0; i < count; ++i) addresses.push_back(fresh_address());
  return lines_of(addresses);
}

TEST(SymbolsLines, TheInnermostCallThatIsTheKernelsOwnIsTold) {
  const SourceLine kernel{"/src/gpu/matmul/a b:c.cu", 27};
  EXPECT_EQ(told_by("printf '0x1\n/src/gpu/simt/emulated.hpp:40\n/usr/include/math.h:7\n/opt/include/c++/13/cmath:7\n"
                    "/src/gpu/matmul/a b:c.cu:27 (discriminator 3)\n/src/gpu/matmul/other.cu:99\n'",
                    1)[0],
            kernel);
  EXPECT_EQ(told_by("printf '0x1\n??:0\n??:?\n/src/k.cu:?\n/src/gpu/matmul/a b:c.cu:27\n'", 1)[0], kernel);
  // The machinery itself: better its outermost call than nothing.
  EXPECT_EQ(told_by("printf '0x1\n/src/gpu/simt/a.hpp:4\n/src/gpu/simt/b.hpp:5\n'", 1)[0].short_text(), "b.hpp:5");
}

TEST(SymbolsLines, WhateverAddr2linePrintsNothingBreaks) {
  for (const char* script :
       {"exit 1", "kill -9 $$", "printf 'k.cu:1\n'", "printf '0x'", "printf '0x1\nk.cu\n:1\n:\nk.cu:-1\nk.cu:1x\n'",
        "printf '0x1\nk.cu:99999999999999999999\n'", "head -c 300000 /dev/urandom", "cat /dev/null; echo 0x1 >&2",
        "printf '0x1\n??:5\n0x2\n??:0\n'"}) {
    for (const SourceLine& line : told_by(script, 2))
      if (!std::strstr(script, "urandom")) {
        EXPECT_EQ(line.short_text(), "?") << script;
      }
  }
  // More answers than questions, and fewer.
  EXPECT_EQ(told_by("for i in 1 2 3 4; do printf \"0x$i\nk.cu:$i\n\"; done", 2)[1].short_text(), "k.cu:2");
  const auto cut = told_by("printf '0x1\nk.cu:8\n0x2\n'", 2);
  EXPECT_EQ(cut[0].short_text(), "k.cu:8");
  EXPECT_EQ(cut[1].short_text(), "?");
}

TEST(SymbolsLines, OneProcessAnswersThousandsAndIsNotAskedTwice) {
  TemporaryFolder folder;
  const auto tool = folder.write(
      "addr2line", "#!/bin/sh\necho run >> " + (folder / "runs").string() + "\nawk '{print $1; print \"k.cu:\" NR}'\n");
  chmod(tool.c_str(), 0700);
  const SearchPath path(folder.path().string() + ":/bin:/usr/bin");
  std::vector<std::uintptr_t> addresses;
  for (int i = 0; i < 5000; ++i) addresses.push_back(fresh_address());
  addresses.push_back(addresses[0]);
  const auto lines = lines_of(addresses);
  for (int i = 0; i < 5000; ++i) EXPECT_EQ(lines[i].line, i + 1);
  EXPECT_EQ(lines[5000].line, 1);
  EXPECT_EQ(lines_of(addresses), lines);
  EXPECT_EQ(line_of(addresses[7]).line, 8);
  EXPECT_EQ(file_text(folder / "runs"), "run\n");
}

TEST(SymbolsLines, ManyOSThreadsMayAsk) {
  const std::uintptr_t code = reinterpret_cast<std::uintptr_t>(&scale_through_tile);
  std::vector<std::vector<SourceLine>> answers(4);
  {
    std::vector<std::jthread> threads;
    for (auto& answer : answers)
      threads.emplace_back([&] {
        std::vector<std::uintptr_t> addresses;
        for (int i = 0; i < 60; ++i) addresses.push_back(code + i);
        answer = lines_of(addresses);
      });
  }
  for (const auto& answer : answers) EXPECT_EQ(answer, answers[0]);
}

// ---- Shared arrays ----

template <int Tile>
__global__ void two_tiles(mem<float>* to, SharedArray* told) {
  __shared__ mem<float> as[Tile][2];
  __shared__ mem<double> bs[Tile];
  std::uintptr_t locals = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* data) {
        *static_cast<std::uintptr_t*>(data) = reinterpret_cast<std::uintptr_t>(module->dlpi_tls_data);
        return 1;  // the main program comes first
      },
      &locals);
  const auto at = [&](const void* element) {
    return shared_array_at(reinterpret_cast<std::uintptr_t>(element), locals,
                           reinterpret_cast<const void*>(&scale_through_tile));
  };
  told[0] = at(&as[0][0]);
  told[1] = at(&as[Tile - 1][1]);
  told[2] = at(&bs[3]);
  told[3] = at(to);
  {
    __shared__ mem<int> as[5];  // its symbol's ending distinguishes it from the other one
    told[4] = at(&as[4]);
  }
}

TEST(SymbolsShared, ArraysAreKnownByTheirNames) {
  Array<float> to(1);
  SharedArray told[5];
  counted({{1}, {1}}, {}, two_tiles<6>, to.on_device(), told);
  const auto is = [](const SharedArray& array, const char* name, std::size_t offset, std::size_t bytes) {
    EXPECT_EQ(array.name, name);
    EXPECT_EQ(array.offset, offset);
    EXPECT_EQ(array.bytes, bytes);
  };
  is(told[0], "as", 0, 48);
  is(told[1], "as", 44, 48);
  is(told[2], "bs", 24, 48);
  is(told[3], "", 0, 0);
  is(told[4], "as", 16, 20);
  EXPECT_EQ(shared_array_at(0, 0, nullptr).name, "");
}

/// A small ELF file: header, sections (none, symbols, their names), symbols, names.
class ElfFile {
 public:
  struct Symbol {
    std::string name;
    unsigned char type = STT_TLS;
    std::uint64_t value = 0, bytes = 4;
  };

  explicit ElfFile(const std::vector<Symbol>& symbols, Elf64_Word table_type = SHT_SYMTAB) {
    std::string names(1, '\0'), table(sizeof(Elf64_Sym), '\0');
    for (const Symbol& symbol : symbols) {
      Elf64_Sym entry{};
      entry.st_name = static_cast<Elf64_Word>(names.size());
      entry.st_info = ELF64_ST_INFO(STB_LOCAL, symbol.type);
      entry.st_shndx = 1;
      entry.st_value = symbol.value;
      entry.st_size = symbol.bytes;
      table.append(reinterpret_cast<const char*>(&entry), sizeof entry);
      names += symbol.name + '\0';
    }
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_shoff = sizeof header;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = 3;
    sections[1].sh_type = table_type;
    sections[1].sh_link = 2;
    sections[1].sh_entsize = sizeof(Elf64_Sym);
    sections[1].sh_offset = sizeof header + sizeof sections;
    sections[1].sh_size = table.size();
    sections[2].sh_type = SHT_STRTAB;
    sections[2].sh_offset = sections[1].sh_offset + table.size();
    sections[2].sh_size = names.size();
    rest = table + names;
  }
  std::string bytes() const {
    return std::string(reinterpret_cast<const char*>(&header), sizeof header) +
           std::string(reinterpret_cast<const char*>(sections), sizeof sections) + rest;
  }

  Elf64_Ehdr header{};
  Elf64_Shdr sections[3]{};
  std::string rest;
};

class SymbolsElf : public testing::Test {
 protected:
  std::vector<ThreadLocal> read(const std::string& bytes) { return thread_locals_in(folder_.write("file", bytes)); }
  TemporaryFolder folder_;
};

const std::string kTiled = "_ZZN4rung12_GLOBAL__N_112matmul_tiledILi16EEEvPKfE2as";

TEST_F(SymbolsElf, NamesAreTheSources) {
  const auto name = [&](const std::string& symbol) {
    const auto found = read(ElfFile({{symbol}}).bytes());
    return found.size() == 1 ? found[0].name : "";
  };
  EXPECT_EQ(name(kTiled), "as");
  EXPECT_EQ(name(kTiled + "_0"), "as");
  EXPECT_EQ(name(kTiled + "_12"), "as");
  EXPECT_EQ(name(kTiled + ".lto_priv.0"), "as");
  EXPECT_EQ(name("_ZN4rung8emulated9threadIdxE"), "threadIdx");
  EXPECT_EQ(name("_ZZN1agtI1bEEbT_S2_E4tile"), "tile");     // in bool a::operator><b>(b, b)
  EXPECT_EQ(name("_ZZZ4kernvENKUlvE_clEvE4tile"), "tile");  // in a lambda
  EXPECT_EQ(name("_ZN1a5tilesIN1b1cEEE"), "tiles<b::c>");   // of a template
  EXPECT_EQ(name("tile"), "tile");
  EXPECT_EQ(name("tile.1234"), "tile");
  EXPECT_EQ(name("_ZZN4rung"), "_ZZN4rung");  // no name of C++
  EXPECT_EQ(name(":"), ":");
  EXPECT_EQ(name("::"), "");
  EXPECT_EQ(name(".5"), ".5");
  EXPECT_EQ(name("_Z" + std::string(100000, 'P') + "i"), "_Z" + std::string(100000, 'P') + "i");
}

TEST_F(SymbolsElf, OnlyThreadLocalVariablesByTheirBegin) {
  const auto found = read(ElfFile({{"late", STT_TLS, 64, 8},
                                   {"function", STT_FUNC, 8, 8},
                                   {"object", STT_OBJECT, 8, 8},
                                   {"empty", STT_TLS, 8, 0},
                                   {"early", STT_TLS, 0, 64}})
                              .bytes());
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].name, "early");
  EXPECT_EQ(found[0].bytes, 64u);
  EXPECT_EQ(found[1].name, "late");
  EXPECT_EQ(found[1].begin, 64u);
}

TEST_F(SymbolsElf, StrippedOrForeignOrNoFileHasNoNames) {
  EXPECT_EQ(read(ElfFile({{kTiled}}).bytes()).size(), 1u);
  EXPECT_TRUE(read(ElfFile({{kTiled}}, SHT_DYNSYM).bytes()).empty());
  EXPECT_TRUE(read(ElfFile({}).bytes()).empty());
  EXPECT_TRUE(read("").empty());
  EXPECT_TRUE(read("#!/bin/sh\n" + std::string(1000, 'x')).empty());
  EXPECT_TRUE(thread_locals_in(folder_.path()).empty());
  EXPECT_TRUE(thread_locals_in("").empty());
  EXPECT_TRUE(thread_locals_in("/dev/zero").empty());
  for (const auto& [field, value] : {std::pair{EI_CLASS, ELFCLASS32}, {EI_DATA, ELFDATA2MSB}, {EI_MAG0, 0}}) {
    ElfFile file({{kTiled}});
    file.header.e_ident[field] = static_cast<unsigned char>(value);
    EXPECT_TRUE(read(file.bytes()).empty());
  }
  ElfFile small_sections({{kTiled}}), small_symbols({{kTiled}});
  small_sections.header.e_shentsize = sizeof(Elf32_Shdr);
  EXPECT_TRUE(read(small_sections.bytes()).empty());
  small_symbols.sections[1].sh_entsize = sizeof(Elf32_Sym);
  EXPECT_TRUE(read(small_symbols.bytes()).empty());
}

TEST_F(SymbolsElf, CutAnywhereItHasNoNames) {
  const std::string whole = ElfFile({{kTiled}, {"b"}}).bytes();
  for (std::size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(read(whole.substr(0, size)).empty()) << size << " of " << whole.size();
}

TEST_F(SymbolsElf, PlacesOutsideOfTheFileAreNotFollowed) {
  constexpr std::uint64_t kFar[] = {~std::uint64_t{0}, ~std::uint64_t{0} - 63, std::uint64_t{1} << 63, 1 << 20};
  for (const std::uint64_t far : kFar)
    for (const auto field : {&Elf64_Shdr::sh_offset, &Elf64_Shdr::sh_size})
      for (const int section : {1, 2}) {
        ElfFile file({{kTiled}});
        file.sections[section].*field = far;
        EXPECT_TRUE(read(file.bytes()).empty());
      }
  ElfFile far_sections({{kTiled}}), far_names({{kTiled}});
  far_sections.header.e_shoff = ~std::uint64_t{0} - 100;
  EXPECT_TRUE(read(far_sections.bytes()).empty());
  far_names.sections[1].sh_link = 3;
  EXPECT_TRUE(read(far_names.bytes()).empty());
  ElfFile endless_name({{kTiled}});
  --endless_name.sections[2].sh_size;
  EXPECT_TRUE(read(endless_name.bytes()).empty());
  ElfFile far_name({{kTiled}});
  const Elf64_Word outside = 1 << 30;
  std::memcpy(far_name.rest.data() + sizeof(Elf64_Sym), &outside, sizeof outside);
  EXPECT_TRUE(read(far_name.bytes()).empty());
}

TEST_F(SymbolsElf, AnyByteMayBeDamaged) {
  const std::string whole = ElfFile({{kTiled}, {"b"}}).bytes();
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const int value : {0x00, 0x7f, 0xff}) {
      std::string damaged = whole;
      damaged[i] = static_cast<char>(value);
      EXPECT_LE(read(damaged).size(), 3u) << "byte " << i << " = " << value;
    }
}

}  // namespace
}  // namespace rung
