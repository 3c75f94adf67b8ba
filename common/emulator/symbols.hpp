/// From addresses in the running program to what the source calls them: lines of code, and shared arrays.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace rung {

struct SourceLine {
  std::string file;  ///< as compiled, e.g. /home/me/rung/gpu/matmul/tiled.cu; empty if not known
  int line = 0;
  std::string short_text() const;  ///< "tiled.cu:27", or "?"
  bool operator==(const SourceLine&) const = default;
};

/// The lines of calls, given their return addresses, in their order. Calls that were inlined from gpu/simt/ or from a
/// header of the system are told as the line of the kernel's code that they stand in. One addr2line process a module
/// for all of them; unknown lines where there is no addr2line or no debug information (-g1 is enough). Answers, also
/// those, are remembered. For any OS thread.
std::vector<SourceLine> lines_of(std::span<const std::uintptr_t> return_addresses);
SourceLine line_of(std::uintptr_t return_address);

/// A __shared__ variable of this program.
struct SharedArray {
  std::string name;        ///< "as"; empty if there is none at the address
  std::size_t offset = 0;  ///< of the address from the array's first byte
  std::size_t bytes = 0;   ///< of the whole array
};

/// The static __shared__ array that holds this address, on the OS thread whose block of thread_local variables (of the
/// module that `code` lies in) begins at `locals`. From the symbol table of the program's file, read once.
SharedArray shared_array_at(std::uintptr_t address, std::uintptr_t locals, const void* code);

/// A variable in a module's block of thread_local variables.
struct ThreadLocal {
  std::string name;         ///< as in the source, without its scope: "as"
  std::uint64_t begin = 0;  ///< offset in the block
  std::uint64_t bytes = 0;  ///< at least 1
};

/// The thread_local variables that the .symtab of a 64-bit little-endian ELF file names, by where they begin. Nothing
/// if the file is stripped, cut short, damaged or no such file.
std::vector<ThreadLocal> thread_locals_in(const std::string& elf_file);

}  // namespace rung
