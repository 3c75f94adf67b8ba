/// What reads text that others wrote, each as a function of bytes: for the fuzzer, and for the replay in the tests.
#pragma once

#include <string_view>

namespace rung {

/// A reader takes any bytes: it uses them, or refuses them by an Error. Anything else is a fault.
struct Reader {
  const char* name;  ///< of its folder in tests/fuzz/corpus/
  void (*read)(std::string_view bytes);
};

inline constexpr int kReaders = 6;
extern const Reader readers[kReaders];

}  // namespace rung
