/// Files that users name: the name may be one of a pipe without a writer, of a device without an end, or of a file on a
/// disk that fails.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

namespace rung {

/// Whether a regular file is open there.
bool is_regular_file(int descriptor);

/// What follows in a file that is open, up to its end or, if `one_line`, to the first line break, which is included.
/// Throws Error, without the file's name, if it cannot be read or has more than `most` bytes.
std::string read_from(int descriptor, std::size_t most, bool one_line = false);

/// All bytes of a regular file. Throws Error as read_from() does, also for what is no regular file.
std::string read_file(const std::filesystem::path& file, std::size_t most);

}  // namespace rung
