#include "common/read_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/descriptor.hpp"
#include "common/registry.hpp"

namespace rung {

bool is_regular_file(int descriptor) {
  struct stat found {};
  return ::fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

std::string read_from(int descriptor, std::size_t most, bool one_line) {
  constexpr std::size_t kAtOnce = std::size_t{64} << 10;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kAtOnce);
    const ssize_t got = ::read(descriptor, text.data() + before, kAtOnce);
    if (got < 0 && errno != EINTR) throw Error(std::string("cannot be read: ") + std::strerror(errno));
    text.resize(before + static_cast<std::size_t>(got < 0 ? 0 : got));
    if (const std::size_t end = one_line ? text.find('\n', before) : std::string::npos; end != std::string::npos)
      return text.substr(0, end + 1);
    if (got == 0) return text;
    if (text.size() > most) throw Error(fmt::format("has more than {} bytes", most));
  }
}

std::string read_file(const std::filesystem::path& file, std::size_t most) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open()) throw Error(std::string("cannot be opened: ") + std::strerror(errno));
  if (!is_regular_file(descriptor)) throw Error("is no regular file");
  return read_from(descriptor, most);
}

}  // namespace rung
