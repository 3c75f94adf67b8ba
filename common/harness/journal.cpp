#include "common/harness/journal.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <fstream>

#include "common/json_text.hpp"
#include "common/printable.hpp"
#include "common/read_file.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

/// Trouble with the place that results are written to: exit code 4.
[[noreturn]] void output_error(const std::filesystem::path& file, const char* action) {
  throw OutputError("cannot " + std::string(action) + " " + file.string() + ": " + std::strerror(errno));
}

std::string line_of(const Json& record) {
  const std::string text = json_text(record);
  return checksum(text) + " " + text + "\n";
}

/// A record as it is when read after writing: bytes that are no UTF-8 are replaced.
Json as_written(const Json& record) { return Json::parse(json_text(record)); }

constexpr std::size_t kMostBytes = std::size_t{4} << 30;  // of a journal

/// Whether JSON has tables and lists within one another that no record has: to compare or to write them would take more
/// stack than there is.
bool is_nested_too_deep(const std::string& json) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    if (in_text && json[i] == '\\')
      ++i;
    else if (json[i] == '"')
      in_text = !in_text;
    else if (!in_text && (json[i] == '[' || json[i] == '{') && ++depth > kDeepest)
      return true;
    else if (!in_text && (json[i] == ']' || json[i] == '}'))
      --depth;
  }
  return false;
}

/// The record of a line, or null if the line is torn, was changed or is none of a journal.
Json record_of(const std::string& line) {
  const std::size_t space = line.find(' ');
  if (space == std::string::npos) return nullptr;
  const std::string text = line.substr(space + 1);
  if (checksum(text) != line.substr(0, space) || is_nested_too_deep(text)) return nullptr;
  Json record = Json::parse(text, nullptr, false);
  return record.is_object() ? record : nullptr;
}

/// The record of a run's first line, which identifies the run; null if it does not.
Json header_of(const std::string& line) {
  Json header = record_of(line);
  return header.is_object() && header.value("context", Json::object()).is_object() ? header : nullptr;
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

enum class Lock { held, busy, unsupported };

/// A run that was killed may hold its lock for a moment yet. Not every file system has locks: a Lustre that is mounted
/// without them returns ENOSYS, others EOPNOTSUPP or ENOLCK.
Lock lock(int descriptor) {
  constexpr int kTries = 20;
  for (int i = 0; i < kTries; ++i) {
    if (::flock(descriptor, LOCK_EX | LOCK_NB) == 0) return Lock::held;
    if (errno != EWOULDBLOCK && errno != EINTR) return Lock::unsupported;
    ::usleep(50'000);
  }
  return Lock::busy;
}

/// The other processes in which the file is open, each as "4711 (name)", as far as this user may see that.
std::vector<std::string> holders(int descriptor) {
  std::vector<std::string> found;
  struct stat held {
  }, open{};
  std::error_code none;
  if (::fstat(descriptor, &held) != 0) return found;
  for (const auto& process : std::filesystem::directory_iterator("/proc", none)) {
    const std::string number = process.path().filename().string();
    if (number.find_first_not_of("0123456789") != std::string::npos || number == std::to_string(::getpid())) continue;
    bool has_it = false;
    std::error_code gone;
    for (auto file = std::filesystem::directory_iterator(process.path() / "fd", gone);
         !gone && !has_it && file != std::filesystem::directory_iterator(); file.increment(gone))
      has_it = ::stat(file->path().c_str(), &open) == 0 && open.st_dev == held.st_dev && open.st_ino == held.st_ino;
    if (!has_it) continue;
    std::string name;
    std::getline(std::ifstream(process.path() / "comm"), name);
    found.push_back(number + " (" + printable(name) + ")");
  }
  return found;
}

/// What to do where another process has the lock. A process that a kernel started has it, too, and may outlive the run:
/// that it is not taken from it is the safe choice, since it may still use what the run measures.
[[noreturn]] void locked_error(int descriptor, const std::filesystem::path& folder) {
  std::string text = "another run is measuring into " + folder.string() + "; wait for it to end";
  const std::vector<std::string> all = holders(descriptor);
  std::string names, numbers;
  for (const std::string& one : all) {
    names += (names.empty() ? "" : ", ") + one;
    numbers += " " + one.substr(0, one.find(' '));
  }
  if (!all.empty())
    text += std::string(". It is held by process") + (all.size() > 1 ? "es " : " ") + names +
            "; if that is what a kernel left of a run that was killed, end it: kill" + numbers;
  throw OutputError(text);
}

/// Whether the open file still has this name.
bool is_named(int descriptor, const std::filesystem::path& name) {
  struct stat open {
  }, named{};
  return ::fstat(descriptor, &open) == 0 && ::stat(name.c_str(), &named) == 0 && open.st_dev == named.st_dev &&
         open.st_ino == named.st_ino;
}

/// Opens a device, or a pipe that has a reader or gets one within a minute.
Descriptor opened_in_place(const std::filesystem::path& file) {
  constexpr int kTenths = 600;
  for (int i = 0;; ++i) {
    Descriptor descriptor(::open(file.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor.is_open()) {
      ::fcntl(descriptor, F_SETFL, O_WRONLY);
      return descriptor;
    }
    if (errno != ENXIO) output_error(file, "write");
    if (i >= kTenths) throw OutputError("cannot write " + file.string() + ": it is a pipe without a reader");
    ::usleep(100'000);
  }
}

}  // namespace

Journal::Journal(std::filesystem::path file, const Json& header) : Journal(std::move(file), header, Kind::any) {}

std::unique_ptr<Journal> Journal::begin(const std::filesystem::path& file, const Json& header) {
  std::unique_ptr<Journal> journal(new Journal(file, header, Kind::fresh));
  return journal->descriptor_.is_open() ? std::move(journal) : nullptr;
}

std::unique_ptr<Journal> Journal::resume(const std::filesystem::path& file, const Json& header) {
  std::unique_ptr<Journal> journal(new Journal(file, header, Kind::existing));
  return journal->descriptor_.is_open() ? std::move(journal) : nullptr;
}

Journal::Journal(std::filesystem::path file, const Json& header, Kind kind)
    : file_(std::move(file)), header_(as_written(header)) {
  open_locked(kind);
  if (!descriptor_.is_open()) return;
  const std::size_t whole = read_lines();
  if ((kind == Kind::fresh && whole > 0) || (kind == Kind::existing && whole == 0)) {
    descriptor_.close();
    return;
  }
  if (whole > 0 && header_.is_null())
    throw Error("the first line of " + file_.string() +
                ", which identifies the run, is damaged: it cannot be resumed; start again without --resume");
  const auto identity = [](const Json& of) { return of.value("identity", Json()); };
  const std::string other = whole > 0 ? difference(identity(header_), identity(as_written(header))) : "";
  if (!other.empty())
    throw Error("the run in " + file_.parent_path().string() + " cannot be resumed: " + other +
                "; start again without --resume");
  if (::ftruncate(descriptor_, static_cast<off_t>(whole)) != 0) output_error(file_, "write");
  if (whole > 0) return;
  write_line(line_of(header_));
  sync_folder(file_);
}

/// A run that ended while this process waited for its lock has removed the journal: the file that is locked then is not
/// the one that has the name, and another look is taken.
void Journal::open_locked(Kind kind) {
  std::error_code ignored;
  if (kind != Kind::existing) std::filesystem::create_directories(file_.parent_path(), ignored);
  do {
    const int made = kind == Kind::existing ? 0 : O_CREAT;
    descriptor_ =
        Descriptor(::open(file_.c_str(), O_RDWR | O_APPEND | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW | made, 0644));
    if (!descriptor_.is_open() && errno == ENOENT && !made) return;
    if (!descriptor_.is_open()) output_error(file_, "write");
    if (!is_regular_file(descriptor_)) throw OutputError(file_.string() + " is no regular file: no journal");
    const Lock got = lock(descriptor_);
    if (got == Lock::busy) locked_error(descriptor_, file_.parent_path());
    if (got == Lock::unsupported) not_locked_ = std::strerror(errno);
  } while (!is_named(descriptor_, file_));
  ::fstat(descriptor_, &opened_);
}

/// Takes the records from the file. Returns the bytes of its whole lines; without any, the header stays as it is.
std::size_t Journal::read_lines() {
  std::string text;
  try {
    text = read_from(descriptor_, kMostBytes);
  } catch (const Error& error) {
    throw OutputError(file_.string() + " " + error.what());
  }
  std::size_t whole = 0;
  for (std::size_t end; (end = text.find('\n', whole)) != std::string::npos; whole = end + 1) {
    const std::string line = text.substr(whole, end - whole);
    if (whole == 0) {
      header_ = header_of(line);
      continue;
    }
    Json record = record_of(line);
    if (record.is_null())
      ++damaged_;
    else
      records_.push_back(std::move(record));
  }
  return whole;
}

void Journal::keep_if(const std::function<bool(const Json& record)>& is_own) {
  damaged_ += static_cast<int>(std::erase_if(records_, [&](const Json& record) { return !is_own(record); }));
}

bool Journal::is_open() const {
  struct stat now {};
  return ::fstat(descriptor_, &now) == 0 && now.st_dev == opened_.st_dev && now.st_ino == opened_.st_ino;
}

void Journal::append(const Json& record) {
  write_line(line_of(record));
  records_.push_back(record);
}

void Journal::write_line(const std::string& line) { write_all(descriptor_, line, file_); }

namespace {

bool is_entry(const Json& entry, const std::string& point) {
  if (!entry.is_object() || entry.value("name", Json()) != point) return false;
  const auto fits = [&](const char* key, bool (Json::*is)() const) {
    const auto found = entry.find(key);
    return found == entry.end() || ((*found).*is)();
  };
  return fits("skipped", &Json::is_boolean) && fits("error_occurred", &Json::is_boolean) &&
         fits("gflops", &Json::is_number) && fits("gbytes_per_s", &Json::is_number) &&
         fits("remeasured", &Json::is_number_integer);
}

bool is_point(const Json& point) {
  if (!point.is_object()) return false;
  const auto name = point.find("point"), entries = point.find("entries");
  return name != point.end() && name->is_string() && entries != point.end() && entries->is_array() &&
         !entries->empty() && std::all_of(entries->begin(), entries->end(), [&](const Json& entry) {
           return is_entry(entry, name->get_ref<const std::string&>());
         });
}

}  // namespace

bool holds_points(const Json& record) {
  const auto points = record.find("points");
  return points != record.end() && points->is_array() && std::all_of(points->begin(), points->end(), is_point);
}

namespace {

constexpr std::string_view kPart = ".part";

/// A file that will take the place of `file` in one step; another process that does the same has its own.
std::filesystem::path part_of(const std::filesystem::path& file) {
  return file.string() + "." + std::to_string(::getpid()) + std::string(kPart);
}

/// Opens a file in the folder of `file`, which is made. Its lock shows that its process lives.
Descriptor open_part(const std::filesystem::path& file) {
  std::error_code ignored;
  if (file.has_parent_path()) std::filesystem::create_directories(file.parent_path(), ignored);
  Descriptor descriptor(::open(part_of(file).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!descriptor.is_open()) output_error(file, "write");
  ::flock(descriptor, LOCK_EX | LOCK_NB);
  return descriptor;
}

/// Whether this is a part of `file`, as part_of() names it.
bool is_part(const std::filesystem::path& found, const std::filesystem::path& file) {
  const std::string name = found.filename().string(), beginning = file.filename().string() + ".";
  if (!name.starts_with(beginning) || !name.ends_with(kPart)) return false;
  const auto digits = name.substr(beginning.size(), name.size() - beginning.size() - kPart.size());
  return !digits.empty() && std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// What processes that were killed in the midst of write_file() have left.
void remove_dead_parts(const std::filesystem::path& file) {
  std::error_code none;
  const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
  for (const auto& entry : std::filesystem::directory_iterator(folder, none)) {
    if (!is_part(entry.path(), file) || !entry.is_regular_file(none)) continue;
    const Descriptor descriptor(::open(entry.path().c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (descriptor.is_open() && ::flock(descriptor, LOCK_EX | LOCK_NB) == 0) ::unlink(entry.path().c_str());
  }
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
  open_part(file);
  ::unlink(part_of(file).c_str());
}

void write_file(const std::filesystem::path& named, const std::string& text) {
  const std::filesystem::path file = followed(named);
  if (is_written_in_place(file)) return write_text(opened_in_place(file), text, file);
  const Descriptor descriptor = open_part(file);
  try {
    write_all(descriptor, text, file);
    if (::rename(part_of(file).c_str(), file.c_str()) != 0) output_error(file, "write");
  } catch (...) {
    ::unlink(part_of(file).c_str());
    throw;
  }
  sync_folder(file);
  remove_dead_parts(file);
}

void write_own_file(const std::filesystem::path& file, const std::string& text) {
  std::error_code ignored;
  if (is_symlink(file, ignored)) std::filesystem::remove(file, ignored);
  write_file(file, text);
}

Json journal_header(const std::filesystem::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!descriptor.is_open() || !is_regular_file(descriptor)) return Json::object();
  try {
    const std::string line = read_from(descriptor, kMostBytes, true);
    Json header = line.ends_with('\n') ? header_of(line.substr(0, line.size() - 1)) : Json();
    return header.is_object() ? header : Json::object();
  } catch (const Error&) {
    return Json::object();
  }
}

bool is_locked(const std::filesystem::path& file) {
  const Descriptor descriptor(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return descriptor.is_open() && ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
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
    if (key == "program") return "the program has been rebuilt";
    if (key == "points") return "its points are others or are sampled otherwise";
    if (key == "experiment") return "its experiment has been rewritten";
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
