#include "common/machine/loaded_libraries.hpp"

#include <elf.h>
#include <fmt/format.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>

namespace rung {
namespace {

/// In hexadecimal, from the notes of a loaded library; empty if it has none.
std::string build_id(const dl_phdr_info& library) {
  for (int i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = library.dlpi_phdr[i];
    if (part.p_type != PT_NOTE) continue;
    const std::size_t step = part.p_align == 8 ? 8 : 4;
    const auto padded = [&](std::size_t bytes) { return (bytes + step - 1) / step * step; };
    const char* at = reinterpret_cast<const char*>(library.dlpi_addr + part.p_vaddr);
    const char* const end = at + part.p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      ElfW(Nhdr) note;
      std::memcpy(&note, at, sizeof note);
      const char* const name = at + sizeof note;
      const char* const value = name + padded(note.n_namesz);
      if (value + note.n_descsz > end) break;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
        std::string digits;
        for (std::size_t byte = 0; byte < note.n_descsz; ++byte)
          digits += fmt::format("{:02x}", static_cast<unsigned char>(value[byte]));
        return digits;
      }
      at = value + padded(note.n_descsz);
    }
  }
  return "";
}

int add(dl_phdr_info* library, std::size_t, void* all) {
  const std::filesystem::path file = library->dlpi_name ? library->dlpi_name : "";
  struct stat found {};
  if (!file.has_parent_path() || ::stat(file.c_str(), &found) != 0) return 0;  // the program itself, and the kernel's
  (*static_cast<std::map<std::string, std::string>*>(all))[file.filename().string()] =
      fmt::format("{} {} {}", build_id(*library), found.st_size, found.st_mtim.tv_sec);
  return 0;
}

}  // namespace

const std::map<std::string, std::string>& loaded_libraries() {
  static const std::map<std::string, std::string> all = [] {
    std::map<std::string, std::string> found;
    dl_iterate_phdr(add, &found);
    return found;
  }();
  return all;
}

}  // namespace rung
