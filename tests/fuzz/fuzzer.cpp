/// libFuzzer's entry: RUNG_READER=NAME chooses what reads the bytes. tests/fuzz/run.sh builds and runs it.
#include <cstdlib>
#include <cstring>

#include "tests/fuzz/readers.hpp"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* bytes, std::size_t size) {
  static const rung::Reader* chosen = [] {
    const char* name = std::getenv("RUNG_READER");
    for (const rung::Reader& reader : rung::readers)
      if (name && std::strcmp(name, reader.name) == 0) return &reader;
    std::abort();
  }();
  chosen->read({reinterpret_cast<const char*>(bytes), size});
  return 0;
}
