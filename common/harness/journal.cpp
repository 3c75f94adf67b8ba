#include "common/harness/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "common/json_text.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

/// Trouble with the place that results are written to: exit code 4.
[[noreturn]] void output_error(const std::filesystem::path& file, const char* action) {
  throw OutputError("cannot " + std::string(action) + " " + file.string() + ": " + std::strerror(errno) +
                    "; choose another folder with --outdir");
}

std::string line_of(const Json& record) {
  const std::string text = json_text(record);
  return checksum(text) + " " + text + "\n";
}

/// What is read again of a record that is written: foreign bytes are replaced on the way.
Json as_written(const Json& record) { return Json::parse(json_text(record)); }

/// The record of a line, or null if the line is torn or was changed.
Json record_of(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos || checksum(line.substr(space + 1)) != line.substr(0, space)) return nullptr;
  return Json::parse(line.substr(space + 1), nullptr, false);
}

void write_text(int descriptor, const std::string& text, const std::filesystem::path& file) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = ::write(descriptor, text.data() + done, text.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) output_error(file, "write");
    done += static_cast<std::size_t>(wrote);
  }
}

/// Waits until it is on the disk.
void write_all(int descriptor, const std::string& text, const std::filesystem::path& file) {
  write_text(descriptor, text, file);
  if (::fsync(descriptor) != 0) output_error(file, "write");
}

/// So that the name of a new file survives a power cut, too; not every file system can.
void sync_folder(const std::filesystem::path& file) {
  const int folder = ::open(file.has_parent_path() ? file.parent_path().c_str() : ".", O_RDONLY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

/// A run that was killed may hold its lock for a moment yet.
bool lock(int descriptor) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return true;
    ::usleep(50'000);
  }
  return false;
}

/// To a device or a pipe, which must not be replaced by a file.
void write_in_place(const std::filesystem::path& file, const std::string& text) {
  const int descriptor = ::open(file.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) output_error(file, "write");
  try {
    write_text(descriptor, text, file);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  ::close(descriptor);
}

}  // namespace

Journal::Journal(std::filesystem::path file, const Json& header) : file_(std::move(file)), header_(as_written(header)) {
  std::error_code ignored;
  std::filesystem::create_directories(file_.parent_path(), ignored);
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (descriptor_ < 0) output_error(file_, "write");
  if (!lock(descriptor_)) {
    ::close(descriptor_);
    throw OutputError("another run is measuring into " + file_.parent_path().string() + "; wait for it to end");
  }
  const std::size_t whole = read_lines();
  if (whole > 0 && header_.is_null()) {
    ::close(descriptor_);
    throw Error("the first line of " + file_.string() +
                ", which says what run it is, is damaged: it cannot be resumed; start anew without --resume");
  }
  const auto identity = [](const Json& of) { return of.value("identity", Json()); };
  const std::string other = whole > 0 ? difference(identity(header_), identity(as_written(header))) : "";
  if (!other.empty()) {
    ::close(descriptor_);
    throw Error("the run in " + file_.parent_path().string() + " cannot be resumed: " + other +
                "; start anew without --resume");
  }
  if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0 || ::lseek(descriptor_, 0, SEEK_END) < 0)
    output_error(file_, "write");
  if (whole > 0) return;
  write_line(line_of(header_));
  sync_folder(file_);
}

/// Takes the records from the file. Returns the bytes of its whole lines; without any, the header stays as it is.
std::size_t Journal::read_lines() {
  std::ifstream in(file_);
  std::string line;
  std::size_t whole = 0;
  while (std::getline(in, line) && !in.eof()) {
    Json record = record_of(line);
    const bool is_damaged = !record.is_object();
    if (whole == 0)
      header_ = is_damaged ? Json() : std::move(record);
    else if (is_damaged)
      ++damaged_;
    else
      records_.push_back(std::move(record));
    whole += line.size() + 1;
  }
  return whole;
}

Journal::~Journal() { ::close(descriptor_); }

void Journal::append(const Json& record) {
  write_line(line_of(record));
  records_.push_back(record);
}

void Journal::write_line(const std::string& line) { write_all(descriptor_, line, file_); }

namespace {

bool is_entry(const Json& entry) {
  if (!entry.is_object()) return false;
  const auto fits = [&](const char* key, bool (Json::*is)() const) {
    const auto found = entry.find(key);
    return found == entry.end() || ((*found).*is)();
  };
  return fits("skipped", &Json::is_boolean) && fits("error_occurred", &Json::is_boolean) &&
         fits("gflops", &Json::is_number) && fits("gbytes_per_s", &Json::is_number);
}

bool is_point(const Json& point) {
  if (!point.is_object()) return false;
  const auto name = point.find("point"), entries = point.find("entries");
  return name != point.end() && name->is_string() && entries != point.end() && entries->is_array() &&
         !entries->empty() && std::all_of(entries->begin(), entries->end(), is_entry);
}

}  // namespace

bool holds_points(const Json& record) {
  const auto points = record.find("points");
  return points != record.end() && points->is_array() && std::all_of(points->begin(), points->end(), is_point);
}

namespace {

/// A file that will take the place of `file` in one step; another process that does the same has its own.
std::filesystem::path part_of(const std::filesystem::path& file) {
  return file.string() + "." + std::to_string(::getpid()) + ".part";
}

/// Opens a file beside `file`, whose folder is made.
int open_part(const std::filesystem::path& file) {
  std::error_code ignored;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ignored);
  const int descriptor = ::open(part_of(file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (descriptor < 0) output_error(file, "write");
  return descriptor;
}

/// Where what is written to `named` ends up: not to replace a link.
std::filesystem::path followed(const std::filesystem::path& named) {
  std::error_code ignored;
  const std::filesystem::path file = std::filesystem::canonical(named, ignored);
  return file.empty() ? named : file;
}

bool is_written_in_place(const std::filesystem::path& file) {
  std::error_code ignored;
  return exists(file, ignored) && !is_regular_file(file, ignored);
}

}  // namespace

void check_writable(const std::filesystem::path& named) {
  const std::filesystem::path file = followed(named);
  if (is_written_in_place(file)) {
    if (is_directory(file)) errno = EISDIR;
    if (is_directory(file) || ::access(file.c_str(), W_OK) != 0) output_error(file, "write");
    return;
  }
  ::close(open_part(file));
  ::unlink(part_of(file).c_str());
}

void write_file(const std::filesystem::path& named, const std::string& text) {
  const std::filesystem::path file = followed(named);
  if (is_written_in_place(file)) return write_in_place(file, text);
  const int descriptor = open_part(file);
  try {
    write_all(descriptor, text, file);
  } catch (...) {
    ::close(descriptor);
    ::unlink(part_of(file).c_str());
    throw;
  }
  ::close(descriptor);
  if (::rename(part_of(file).c_str(), file.c_str()) != 0) {
    const int why = errno;
    ::unlink(part_of(file).c_str());
    errno = why;
    output_error(file, "write");
  }
  sync_folder(file);
}

Json journal_header(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string line;
  Json header = std::getline(in, line) && !in.eof() ? record_of(line) : Json();
  return header.is_object() ? header : Json::object();
}

bool is_locked(const std::filesystem::path& file) {
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool is = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0;
  ::close(descriptor);
  return is;
}

std::string difference(const Json& was, const Json& is) {
  if (was == is) return "";
  if (!was.is_object() || !is.is_object()) return "it is another run";
  for (const auto& [key, now] : is.items()) {
    const Json before = was.value(key, Json());
    if (before == now) continue;
    if (now.is_object() && before.is_object()) {
      Json all = before;
      all.update(now);
      for (const auto& [name, value] : all.items())
        if (before.value(name, Json()) != now.value(name, Json()))
          return name + " was " + json_text(before.value(name, Json("unset"))) + " and is " +
                 json_text(now.value(name, Json("unset")));
    }
    if (key == "program") return "the program has been built anew";
    if (key == "points") return "its points are others or are sampled otherwise";
    return key + " was " + json_text(before) + " and is " + json_text(now);
  }
  return "it is another run";
}

std::string checksum(const std::string& text) {
  std::uint64_t hash = 0xCBF29CE484222325ull;
  for (const unsigned char c : text) hash = (hash ^ c) * 0x100000001B3ull;
  char hex[17];
  std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(hash));
  return hex;
}

}  // namespace rung
