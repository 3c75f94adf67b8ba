/// What is measured is kept: one line per finished point, with a checksum, on the disk before the next point begins.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "common/descriptor.hpp"

namespace rung {

using Json = nlohmann::ordered_json;

/// The journal of one run. Its first record identifies the run; the others are its finished points.
class Journal {
 public:
  /// Starts a new journal, or continues the one in `file`: whole records are kept, damaged lines among them are passed
  /// over, a torn last line is cut off. Holds a lock on it: throws Error when another process measures into the same
  /// folder, when the folder cannot be written, or when the journal there has another "identity" than `header` or a
  /// damaged header.
  Journal(std::filesystem::path file, const Json& header);
  /// A new one; null if another process has written to it before this one could lock it.
  static std::unique_ptr<Journal> begin(const std::filesystem::path& file, const Json& header);
  /// Continues a journal that has a header; null if there is none any more, for instance since its run has just ended.
  static std::unique_ptr<Journal> resume(const std::filesystem::path& file, const Json& header);

  /// The header as it was written when the run began.
  const Json& header() const { return header_; }
  const std::vector<Json>& records() const { return records_; }
  /// Drops the records that are none of the run's; they count as damaged.
  void keep_if(const std::function<bool(const Json& record)>& is_own);
  /// How many lines were passed over because their checksum did not fit, or dropped.
  int damaged() const { return damaged_; }
  /// Why nothing keeps another process from measuring into the same folder; empty if the lock does.
  const std::string& not_locked() const { return not_locked_; }
  /// Whether the file is still open: a kernel can close any file.
  bool is_open() const;
  /// Appends and waits until it is on the disk. Throws Error when it cannot be.
  void append(const Json& record);

 private:
  enum class Kind { any, fresh, existing };
  Journal(std::filesystem::path file, const Json& header, Kind kind);

  void open_locked(Kind kind);
  std::size_t read_lines();
  void write_line(const std::string& line);

  std::filesystem::path file_;
  Descriptor descriptor_;  ///< closed: there is nothing to begin or to resume
  struct stat opened_ {};
  std::string not_locked_;
  Json header_;
  std::vector<Json> records_;
  int damaged_ = 0;
};

/// Whether a record is of points, each with its name and at least one entry of that name, in which what a resumed study
/// looks at has the type that it is written with.
bool holds_points(const Json& record);

/// Replaces the file `named`, or the one that it links to, by `text` in one step: a reader sees the old file or the new
/// one, whole. What a process that was killed left of such a step is removed. A device or a pipe is written to; a pipe
/// that has no reader within a minute cannot be. Throws OutputError.
void write_file(const std::filesystem::path& named, const std::string& text);

/// The same for a file of a run's own folder: a link of that name is replaced and not followed.
void write_own_file(const std::filesystem::path& file, const std::string& text);

/// The header of a journal; empty if it cannot be read or its line is damaged.
Json journal_header(const std::filesystem::path& file);

/// Whether a process measures into this journal now.
bool is_locked(const std::filesystem::path& file);

/// The first thing that differs between two runs' identities, in words: "seed was 1 and is 2". Empty if nothing does.
std::string difference(const Json& was, const Json& is);

/// Throws OutputError if write_file() could not write there.
void check_writable(const std::filesystem::path& named);

/// 64-bit FNV-1a, in hexadecimal: detects a torn or edited line, and is no protection against forgery.
std::string checksum(const std::string& text);

}  // namespace rung
