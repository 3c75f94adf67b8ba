#include "common/emulator/symbols.hpp"

#include <cxxabi.h>
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>

namespace rung {
namespace {

/// A file descriptor that is closed by the destructor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  explicit operator bool() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

/// An executable or shared library of this process.
struct Module {
  std::string file;
  std::uintptr_t base = 0;   ///< load address minus address in the file
  bool is_writable = false;  ///< the part of it that was asked for
};

/// The main program's file, under a name that other processes can open even if it has been rebuilt since.
std::string own_file() { return "/proc/" + std::to_string(getpid()) + "/exe"; }

std::optional<Module> module_at(std::uintptr_t code) {
  struct Search {
    std::uintptr_t code;
    std::optional<Module> found;
  } search{code, {}};
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        for (const auto& part : std::span(module->dlpi_phdr, module->dlpi_phnum))
          if (part.p_type == PT_LOAD && wanted.code - module->dlpi_addr - part.p_vaddr < part.p_memsz)
            wanted.found = Module{*module->dlpi_name ? module->dlpi_name : own_file(), module->dlpi_addr,
                                  (part.p_flags & PF_W) != 0};
        return wanted.found ? 1 : 0;
      },
      &search);
  return search.found;
}

// ---- Lines ----

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Reads `bytes` bytes at `offset`; false if the file has fewer.
bool read_at(int file, std::uint64_t offset, void* to, std::size_t bytes) {
  for (char* next = static_cast<char*>(to); bytes > 0;) {
    const ssize_t got = pread(file, next, bytes, static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    next += got;
    offset += static_cast<std::uint64_t>(got);
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

std::uint64_t size_of(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) ? static_cast<std::uint64_t>(facts.st_size) : 0;
}

std::string content(int file) {
  std::string text(size_of(file), '\0');
  return read_at(file, 0, text.data(), text.size()) ? text : "";
}

/// The standard output of a program for this standard input; empty if it cannot be started. Both are files in memory,
/// so that neither process can block the other.
std::string output_of(std::initializer_list<const char*> command, std::string_view input) {
  const Descriptor in(memfd_create("input", MFD_CLOEXEC)), out(memfd_create("output", MFD_CLOEXEC));
  if (!in || !out || !write_all(in.number(), input) || lseek(in.number(), 0, SEEK_SET) != 0) return "";

  std::vector<char*> arguments;
  for (const char* argument : command) arguments.push_back(const_cast<char*>(argument));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t files;
  if (posix_spawn_file_actions_init(&files) != 0) return "";
  pid_t process = 0;
  const bool started = posix_spawn_file_actions_adddup2(&files, in.number(), 0) == 0 &&
                       posix_spawn_file_actions_adddup2(&files, out.number(), 1) == 0 &&
                       posix_spawn_file_actions_addopen(&files, 2, "/dev/null", O_WRONLY, 0) == 0 &&
                       posix_spawnp(&process, arguments[0], &files, nullptr, arguments.data(), environ) == 0;
  posix_spawn_file_actions_destroy(&files);
  if (!started) return "";
  while (waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
  return content(out.number());
}

/// Parses "/home/me/tiled.cu:27 (discriminator 3)"; "??:0" and "tiled.cu:?" are unknown.
std::optional<SourceLine> parse_line(std::string_view text) {
  text = text.substr(0, text.find(" (discriminator"));
  const std::size_t colon = text.rfind(':');
  if (colon == 0 || colon == std::string_view::npos) return {};
  SourceLine place{std::string(text.substr(0, colon))};
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data() + colon + 1, end, place.line);
  if (error != std::errc() || rest != end || place.line <= 0 || place.file == "??") return {};
  return place;
}

/// Whether the file is a library header, the emulator's included, rather than a kernel's source.
bool is_library(const std::string& file) {
  return ("/" + file).find("/gpu/simt/") != std::string::npos ||
         ("/" + file).find("/common/emulator/") != std::string::npos || file.ends_with("_emulated.hpp") ||
         file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.find("/include/c++/") != std::string::npos || file.find("/lib/gcc/") != std::string::npos ||
         file.find("/libsanitizer/") != std::string::npos;
}

std::string hexadecimal(std::uintptr_t number) {
  char digits[2 * sizeof number];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number, 16);
  return {digits, end};
}

/// Looks up the lines of addresses in one file. For each address addr2line -i -a prints a line "0x…" and then its
/// calls, innermost first if some are inlined.
void run_addr2line(const std::string& file, const std::vector<std::uintptr_t>& addresses,
                   std::vector<SourceLine>& lines) {
  std::string input;
  for (const std::uintptr_t address : addresses) input += "0x" + hexadecimal(address) + "\n";
  const std::string output = output_of({"addr2line", "-i", "-a", "-e", file.c_str()}, input);

  std::size_t results = 0;
  bool found = false;
  for (std::string_view rest = output; !rest.empty();) {
    const std::string_view text = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), text.size() + 1));
    if (text.starts_with("0x")) {
      found = false;
      if (++results > addresses.size()) return;
    } else if (results > 0 && !found) {
      const auto place = parse_line(text);
      if (!place) continue;
      lines[results - 1] = *place;  // if all calls are in libraries, this ends with the outermost
      found = !is_library(place->file);
    }
  }
}

constexpr std::uintptr_t kPlace = std::uintptr_t{1} << 60;  // above all addresses of code

/// The lines looked up so far.
struct Lines {
  std::mutex mutex;
  std::map<std::uintptr_t, SourceLine> known;
  std::map<std::pair<std::string_view, unsigned>, std::uintptr_t> places;  ///< by file and line, as numbers
};
Lines& lines() {
  static Lines all;
  return all;
}

/// Looks up the lines that are not known yet.
void look_up(std::map<std::uintptr_t, SourceLine>& known, std::span<const std::uintptr_t> return_addresses) {
  struct Addresses {
    std::vector<std::uintptr_t> in_process, in_file;
  };
  std::map<std::string, Addresses> by_file;
  for (const std::uintptr_t address : return_addresses) {
    if (!known.try_emplace(address).second) continue;
    const std::uintptr_t call = address - 1;  // a return address may be in the next line, or past the function
    const auto module = module_at(call);
    if (!module) continue;
    by_file[module->file].in_process.push_back(address);
    by_file[module->file].in_file.push_back(call - module->base);
  }
  for (const auto& [file, addresses] : by_file) {
    std::vector<SourceLine> found(addresses.in_file.size());
    run_addr2line(file, addresses.in_file, found);
    for (std::size_t i = 0; i < found.size(); ++i) known[addresses.in_process[i]] = found[i];
  }
}

// ---- Shared arrays ----

/// The last component of a C++ name: "as" of "void rung::tiled<16>(float const*)::as".
std::string unscoped(const std::string& name) {
  int depth = 0;
  for (std::size_t i = name.size(); i > 1; --i) {
    const char c = name[i - 1];
    if (std::strchr(")>]}", c)) ++depth;
    if (std::strchr("(<[{", c)) --depth;
    if (depth == 0 && c == ':' && name[i - 2] == ':') return name.substr(i);
  }
  return name;
}

/// The variable's name in the source. A suffix after a dot was added by the compiler.
std::string variable_name(std::string symbol) {
  if (const std::size_t dot = symbol.find('.'); dot > 0) symbol.resize(std::min(dot, symbol.size()));
  const std::unique_ptr<char, decltype(&std::free)> readable(
      abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, nullptr), &std::free);
  return unscoped(readable ? readable.get() : symbol);
}

/// An array of T at an offset and of a size that come from the file itself and cannot be trusted; empty if it is not
/// inside the file, or implausibly large.
template <typename T>
std::vector<T> table_at(int file, std::uint64_t offset, std::uint64_t bytes) {
  constexpr std::uint64_t most = std::uint64_t{1} << 30;
  const std::uint64_t size = size_of(file);
  if (offset > size || bytes > std::min(size - offset, most)) return {};
  std::vector<T> table(bytes / sizeof(T));
  if (!read_at(file, offset, table.data(), table.size() * sizeof(T))) return {};
  return table;
}

bool is_supported(const Elf64_Ehdr& header) {
  return std::memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
         header.e_ident[EI_DATA] == ELFDATA2LSB && header.e_shentsize == sizeof(Elf64_Shdr) &&
         std::endian::native == std::endian::little;
}

/// The variables of an ELF file of this type of symbol, by offset.
std::vector<ThreadLocal> variables_in(const std::string& elf_file, unsigned char type) {
  const Descriptor file(open(elf_file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  Elf64_Ehdr header;
  if (!file || !read_at(file.number(), 0, &header, sizeof header) || !is_supported(header)) return {};
  const auto sections =
      table_at<Elf64_Shdr>(file.number(), header.e_shoff, std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  const auto table =
      std::find_if(sections.begin(), sections.end(), [](const auto& s) { return s.sh_type == SHT_SYMTAB; });
  if (table == sections.end() || table->sh_entsize != sizeof(Elf64_Sym) || table->sh_link >= sections.size()) return {};
  const Elf64_Shdr& names = sections[table->sh_link];
  const auto strings = table_at<char>(file.number(), names.sh_offset, names.sh_size);
  if (strings.empty() || strings.back() != '\0') return {};

  std::vector<ThreadLocal> found;
  for (const Elf64_Sym& symbol : table_at<Elf64_Sym>(file.number(), table->sh_offset, table->sh_size)) {
    if (ELF64_ST_TYPE(symbol.st_info) != type || symbol.st_shndx == SHN_UNDEF || symbol.st_size == 0) continue;
    if (symbol.st_name == 0 || symbol.st_name >= strings.size()) continue;
    const std::string name = &strings[symbol.st_name];
    const bool is_guard = name.starts_with("_ZGV");  // guard variable of a static initialisation
    found.push_back({is_guard ? "rung_gap_guard" : variable_name(name), symbol.st_value, symbol.st_size});
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return found;
}

/// The same of a file of this process, read once.
const std::vector<ThreadLocal>& known_variables(const std::string& file, unsigned char type) {
  static std::mutex mutex;
  static std::map<std::pair<std::string, unsigned char>, std::vector<ThreadLocal>> all;
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = all.try_emplace({file, type});
  if (is_new) place->second = variables_in(file, type);
  return place->second;  // map nodes are stable
}

SharedArray variable_at(std::uint64_t offset, const std::vector<ThreadLocal>& variables) {
  for (const ThreadLocal& variable : variables)
    if (offset - variable.begin < variable.bytes) return {variable.name, offset - variable.begin, variable.bytes};
  return {};
}

}  // namespace

std::string SourceLine::short_text() const {
  return file.empty() ? "?" : file.substr(file.find_last_of('/') + 1) + ":" + std::to_string(line);
}

std::vector<SourceLine> lines_of(std::span<const std::uintptr_t> return_addresses) {
  auto& [mutex, known, places] = lines();
  const std::scoped_lock lock(mutex);
  look_up(known, return_addresses);
  std::vector<SourceLine> found;
  for (const std::uintptr_t address : return_addresses) found.push_back(known[address]);
  return found;
}

SourceLine line_of(std::uintptr_t return_address) { return lines_of({&return_address, 1})[0]; }

std::uintptr_t site_of(const std::source_location& where) {
  auto& [mutex, known, places] = lines();
  const std::scoped_lock lock(mutex);
  const auto [place, is_new] = places.try_emplace({where.file_name(), where.line()}, kPlace + places.size());
  if (is_new) known[place->second] = {where.file_name(), static_cast<int>(where.line())};
  return place->second;
}

SourceLine line_of_running(std::uintptr_t return_address) {
  const SourceLine here = line_of(return_address);
  if (!is_library(here.file)) return here;
  std::array<void*, 16> calls{};  // innermost first; a kernel is only a few calls away
  const int depth = backtrace(calls.data(), static_cast<int>(calls.size()));
  std::vector<std::uintptr_t> addresses;
  for (int i = 0; i < depth; ++i) addresses.push_back(reinterpret_cast<std::uintptr_t>(calls[i]));
  for (const SourceLine& line : lines_of(addresses))
    if (!line.file.empty() && !is_library(line.file)) return line;
  return here;
}

std::vector<ThreadLocal> thread_locals_in(const std::string& elf_file) { return variables_in(elf_file, STT_TLS); }

SharedArray shared_array_at(std::uintptr_t address, std::uintptr_t locals, const void* code) {
  const auto module = module_at(reinterpret_cast<std::uintptr_t>(code));
  return module ? variable_at(address - locals, known_variables(module->file, STT_TLS)) : SharedArray{};
}

SharedArray static_variable_at(std::uintptr_t address) {
  const auto module = module_at(address);
  return module ? variable_at(address - module->base, known_variables(module->file, STT_OBJECT)) : SharedArray{};
}

bool is_read_only(std::uintptr_t address) {
  const auto module = module_at(address);
  return module && !module->is_writable;
}

}  // namespace rung
