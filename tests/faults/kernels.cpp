/// Kernels that end or block their process, beside the ordinary ones, for the program rung_with_faults. They do their
/// work otherwise, so that the fault comes in the midst of a study.
#include <unistd.h>

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

void ignore_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) std::signal(signal, SIG_IGN);
  std::this_thread::sleep_for(std::chrono::hours(1));
}

void crash_later() {
  std::thread([] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    std::raise(SIGSEGV);
  }).detach();
}

/// What called it goes on in a process of its own.
void become_a_daemon() {
  if (fork() > 0) _exit(0);
}

void leave_the_folder() {
  if (chdir("/") != 0) std::abort();
}

void close_files() {
  for (int descriptor = 3; descriptor < 100; ++descriptor) close(descriptor);
}

const bool planted = plant("hangs", "hangs", [] { std::this_thread::sleep_for(std::chrono::hours(1)); }) &&
                     plant("aborts", "aborts", [] { std::abort(); }) &&
                     plant("reads_null", "reads through a null pointer", [] { std::raise(SIGSEGV); }) &&
                     plant("exits", "exits", [] { std::exit(0); }) && plant("corrupts", "corrupts the heap", corrupt) &&
                     plant("exits_130", "exits as after Ctrl-C", [] { _exit(130); }) &&
                     plant("exits_75", "exits as where the GPU is lost", [] { _exit(75); }) &&
                     plant("ignores", "hangs and heeds no signal", ignore_signals) &&
                     plant("crashes_later", "leaves a thread that crashes", crash_later) &&
                     plant("daemon", "goes on in another process", become_a_daemon) &&
                     plant("leaves", "leaves the folder", leave_the_folder) &&
                     plant("closes", "closes files", close_files);

/// Records that say what cannot be: each kernel is refused, and no command stops for them.
Kernel mistaken(const char* name) {
  return {.name = name, .title = "mistaken", .idea = "A mistaken record.", .run = [](const Call&) {}};
}

bool add_mistakes() {
  add_kernel(mistaken("cpu/transpos/family"));
  add_kernel(mistaken("tpu/transpose/side"));
  add_kernel(mistaken("cpu/transpose"));
  add_kernel(mistaken("cpu/transpose/twice"));
  add_kernel(mistaken("cpu/transpose/twice"));
  Kernel source = mistaken("cpu/transpose/source");
  source.source = {{"pmpp", "section 5.4"}, {"pmmp", "section 5.5"}};
  add_kernel(source);
  Kernel no_run = mistaken("cpu/transpose/no_run");
  no_run.run = nullptr;
  add_kernel(no_run);
  Kernel tunable = mistaken("cpu/transpose/tunable");
  tunable.tunables = {{.name = "tile", .values = {}}};
  add_kernel(tunable);
  add_kernel(mistaken("gpu/transpose/no_launch"));
  Kernel no_requested = mistaken("gpu/transpose/no_requested");
  no_requested.gpu.launch = [](const Params&) { return Launch{}; };
  no_requested.gpu.emulate = [](const Call&) {};
  return add_kernel(no_requested);
}

const bool mistakes = add_mistakes();

}  // namespace
}  // namespace rung
