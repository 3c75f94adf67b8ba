/// Maps addresses in the running program to the source: lines of code, and names of shared arrays.
#pragma once

#include <cstdint>
#include <source_location>
#include <span>
#include <string>
#include <vector>

namespace rung {

struct SourceLine {
  std::string file;  ///< as compiled, e.g. /home/me/rung/gpu/matmul/tiled.cu; empty if unknown
  int line = 0;
  std::string short_text() const;  ///< "tiled.cu:27", or "?"
  bool operator==(const SourceLine&) const = default;
};

/// The lines of calls, given their return addresses, in the same order. For calls inlined from gpu/simt/ or a system
/// header, the line of kernel code that contains them. Runs addr2line once per module; lines are unknown without
/// addr2line or debug information (-g1 is enough). Results are cached. Safe to use from several OS threads.
std::vector<SourceLine> lines_of(std::span<const std::uintptr_t> return_addresses);
SourceLine line_of(std::uintptr_t return_address);
/// A number that stands for a place in the source among return addresses, for accesses that have none.
std::uintptr_t site_of(const std::source_location& where);

/// The same of where this OS thread runs. In a library's function that was not inlined, as of an atomic: the line of
/// kernel code that called it.
SourceLine line_of_running(std::uintptr_t return_address);

/// A __shared__ variable of this program, or another one.
struct SharedArray {
  std::string name;        ///< "as"; empty if there is no array at the address
  std::size_t offset = 0;  ///< of the address from the array's first byte
  std::size_t bytes = 0;   ///< of the whole array
};

/// The static __shared__ array that holds this address. `locals`: the beginning, on the OS thread concerned, of the
/// thread_local variables of the module that contains `code`. From the symbol table of the program's file, read once.
SharedArray shared_array_at(std::uintptr_t address, std::uintptr_t locals, const void* code);

/// The variable with a fixed address that holds this one.
SharedArray static_variable_at(std::uintptr_t address);
/// Whether the address is in a module's code or constants.
bool is_read_only(std::uintptr_t address);

/// A thread_local variable of a module.
struct ThreadLocal {
  std::string name;         ///< as in the source, without its scope: "as"
  std::uint64_t begin = 0;  ///< offset in the module's thread-local storage
  std::uint64_t bytes = 0;  ///< at least 1
};

/// The thread_local variables in the .symtab of a 64-bit little-endian ELF file, by offset. Empty if the file is
/// stripped, truncated, damaged or not an ELF file.
std::vector<ThreadLocal> thread_locals_in(const std::string& elf_file);

}  // namespace rung
