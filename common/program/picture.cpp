#include "common/program/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdint>

#include "common/harness/journal.hpp"
#include "common/problem/blur.hpp"
#include "common/read_file.hpp"

namespace rung {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 32;  // of a file
constexpr int kMostLargest = 65535;

bool is_text(const std::string& magic) { return magic == "P2" || magic == "P3"; }
std::size_t channels_of(const std::string& magic) { return magic == "P3" || magic == "P6" ? 3 : 1; }

[[noreturn]] void refuse(const std::filesystem::path& file, const std::string& what) {
  throw Error("picture " + file.string() + ": " + what);
}

std::string contents_of(const std::filesystem::path& file) {
  try {
    return read_file(file, kMostBytes);
  } catch (const Error& error) {
    refuse(file, error.what());
  }
}

/// The bytes of a file, word by word and sample by sample.
class Reader {
 public:
  Reader(std::string bytes, const std::filesystem::path& file) : file_(file), bytes_(std::move(bytes)) {}

  [[noreturn]] void fail(const std::string& what) const { refuse(file_, what); }

  std::string magic() {
    at_ = std::min<std::size_t>(2, bytes_.size());
    return bytes_.substr(0, at_);
  }

  /// The next whole number after blanks and comments, from `least` to `most`.
  int number(const char* what, int least, int most) {
    skip_blanks();
    if (at_ == bytes_.size()) fail(fmt::format("is truncated: it ends before the {}", what));
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(bytes_.data() + at_, bytes_.data() + bytes_.size(), value);
    if (error == std::errc::invalid_argument) fail(fmt::format("has no number where the {} should be", what));
    if (error != std::errc() || value < least || value > most)
      fail(fmt::format("its {} is outside {}..{}", what, least, most));
    at_ = static_cast<std::size_t>(end - bytes_.data());
    return static_cast<int>(value);
  }

  /// The single blank between the header and binary samples.
  void end_header() {
    if (at_ == bytes_.size() || !std::isspace(static_cast<unsigned char>(bytes_[at_])))
      fail("has no blank after its largest value");
    ++at_;
  }

  void need(std::size_t bytes) const {
    if (bytes_.size() - at_ < bytes)
      fail(fmt::format("is truncated: {} bytes of samples, not {}", bytes_.size() - at_, bytes));
  }

  /// A sample of one byte, or of two with the more significant one first.
  int sample(int bytes) {
    int value = 0;
    for (int i = 0; i < bytes; ++i) value = 256 * value + static_cast<unsigned char>(bytes_[at_++]);
    return value;
  }

 private:
  void skip_blanks() {
    while (at_ < bytes_.size()) {
      if (bytes_[at_] == '#')
        at_ = std::min(bytes_.find('\n', at_), bytes_.size());
      else if (std::isspace(static_cast<unsigned char>(bytes_[at_])))
        ++at_;
      else
        return;
    }
  }

  const std::filesystem::path& file_;
  std::string bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Picture read_picture(const std::filesystem::path& file) { return parse_picture(contents_of(file), file); }

Picture parse_picture(std::string bytes, const std::filesystem::path& file) {
  Reader reader(std::move(bytes), file);
  Picture picture{.magic = reader.magic()};
  const std::string& magic = picture.magic;
  if (magic != "P2" && magic != "P3" && magic != "P5" && magic != "P6")
    reader.fail("is neither PGM (P2, P5) nor PPM (P3, P6)");
  picture.cols = reader.number("width", 1, kBlurSideLimit);
  picture.rows = reader.number("height", 1, kBlurSideLimit);
  picture.largest = reader.number("largest value", 1, kMostLargest);
  const int bytes_each = picture.largest > 255 ? 2 : 1;
  const std::size_t channels = channels_of(magic), pixels = std::size_t(picture.rows) * picture.cols;
  if (!is_text(magic)) {
    reader.end_header();
    reader.need(pixels * channels * bytes_each);
  } else {
    reader.need(2 * pixels * channels - 1);  // a digit each and a blank between two, or less memory is asked for
  }
  picture.planes.assign(channels, std::vector<float>(pixels));
  for (std::size_t i = 0; i < pixels; ++i)
    for (std::vector<float>& plane : picture.planes) {
      const int value = is_text(magic) ? reader.number("next sample", 0, picture.largest) : reader.sample(bytes_each);
      if (value > picture.largest) reader.fail(fmt::format("has a sample of {} above {}", value, picture.largest));
      plane[i] = static_cast<float>(value);
    }
  return picture;
}

void write_picture(const std::filesystem::path& file, const Picture& picture) {
  std::string bytes = fmt::format("{}\n{} {}\n{}\n", picture.magic, picture.cols, picture.rows, picture.largest);
  for (std::size_t i = 0; i < picture.planes.front().size(); ++i)
    for (const std::vector<float>& plane : picture.planes) {
      const int value = std::clamp(static_cast<int>(std::lround(plane[i])), 0, picture.largest);
      if (is_text(picture.magic)) {
        bytes += std::to_string(value) + '\n';
      } else {
        if (picture.largest > 255) bytes += static_cast<char>(value / 256);
        bytes += static_cast<char>(value % 256);
      }
    }
  std::error_code none;
  if (file.has_parent_path() && !exists(file.parent_path(), none))
    throw OutputError("picture " + file.string() + " cannot be written: there is no such folder");
  write_file(file, bytes);
}

}  // namespace rung
