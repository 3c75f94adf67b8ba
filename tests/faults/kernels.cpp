/// Kernels that end or block their process, beside the ordinary ones, for the program rung_with_faults. They do their
/// work otherwise, so that the fault comes in the midst of a study.
#include <csignal>
#include <cstdlib>
#include <thread>

#include "common/problem/matmul.hpp"

namespace rung {
namespace {

void work(const Call& call) { find_kernel("cpu/matmul/naive").run(call); }

bool plant(const char* name, const char* title, void (*fault)()) {
  return add_kernel({.name = std::string("cpu/matmul/") + name,
                     .order = 1000,
                     .title = title,
                     .idea = "A planted fault.",
                     .source = {{"rung", "tests/faults"}},
                     .cpu = {.is_serial = true},
                     .run = [fault](const Call& call) {
                       if (matmul_shape(call.params).n >= 16) fault();
                       work(call);
                     }});
}

void corrupt() {
  char* const memory = static_cast<char*>(std::malloc(24));
  for (int i = -16; i < 64; ++i) const_cast<volatile char*>(memory)[i] = 0x55;
  std::free(memory);
}

const bool planted = plant("hangs", "hangs", [] { std::this_thread::sleep_for(std::chrono::hours(1)); }) &&
                     plant("aborts", "aborts", [] { std::abort(); }) &&
                     plant("reads_null", "reads through a null pointer", [] { std::raise(SIGSEGV); }) &&
                     plant("exits", "exits", [] { std::exit(0); }) && plant("corrupts", "corrupts the heap", corrupt);

}  // namespace
}  // namespace rung
