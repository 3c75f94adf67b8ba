/// Kernels that end or block their process, in addition to the ordinary ones, for the program rung_with_faults. They
/// are right for n below 16, so that the fault occurs in the middle of a study.
#include <omp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <thread>
#include <utility>

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

/// Ends this process; its caller continues in a child process.
void become_a_daemon() {
  if (fork() > 0) _exit(0);
}

void leave_the_folder() {
  if (chdir("/") != 0) std::abort();
}

void close_files() {
  for (int descriptor = 3; descriptor < 100; ++descriptor) close(descriptor);
}

void leave_a_busy_thread() {
  static std::atomic<int> turns{0};
  static const bool begun = [] {
    std::thread([] {
      for (;;) turns.fetch_add(1, std::memory_order_relaxed);
    }).detach();
    return true;
  }();
  static_cast<void>(begun);
}

/// Leaves a process that is no child of this one and is therefore not found.
void leave_a_helper() {
  static bool has_helper = false;
  if (std::exchange(has_helper, true)) return;
  prctl(PR_SET_CHILD_SUBREAPER, 0);
  if (const pid_t child = fork(); child > 0) {
    waitpid(child, nullptr, 0);
    return;
  }
  if (fork() > 0) _exit(0);
  prctl(PR_SET_NAME, "helper");
  for (;;) pause();
}

/// As if a control group were out of memory and ended as a whole.
void end_all(int signal) {
  if (signal == SIGKILL) kill(getppid(), signal);
  kill(signal == SIGKILL ? getpid() : 0, signal);
}

void return_twice() {
  static const bool forked = [] { return fork() >= 0; }();
  static_cast<void>(forked);
}

void limit(std::initializer_list<__rlimit_resource> which, bool for_good) {
  for (const __rlimit_resource one : which) {
    rlimit now{};
    getrlimit(one, &now);
    now.rlim_cur = 1;
    if (for_good) now.rlim_max = 1;
    setrlimit(one, &now);
  }
}

void limit_all() {
  limit({RLIMIT_AS, RLIMIT_DATA, RLIMIT_FSIZE, RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_CORE}, false);
}

void limit_for_good() { limit({RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_MEMLOCK, RLIMIT_CORE}, true); }

void set_openmp() {
  omp_set_max_active_levels(0);
  omp_set_num_threads(1);
  omp_set_dynamic(1);
  omp_set_schedule(omp_sched_dynamic, 7);
}

/// Plants a fault that occurs after the work.
bool plant_after(const char* name, const char* title, void (*fault)()) {
  return add_kernel({.name = std::string("cpu/matmul/") + name,
                     .order = 1000,
                     .title = title,
                     .idea = "A planted fault.",
                     .cpu = {.is_serial = true},
                     .run = [fault](const Call& call) {
                       work(call);
                       if (matmul_shape(call.params).n >= 16) fault();
                     }});
}

const bool planted_after = plant_after("busy", "leaves a thread that runs", leave_a_busy_thread) &&
                           plant_after("helper", "leaves a process", leave_a_helper) &&
                           plant_after("kills_all", "kills both processes", [] { end_all(SIGKILL); }) &&
                           plant_after("terminates_all", "terminates its group", [] { end_all(SIGTERM); }) &&
                           plant_after("returns_twice", "returns in two processes", return_twice) &&
                           plant_after("limits", "lowers limits", limit_all) &&
                           plant_after("limits_for_good", "lowers limits for good", limit_for_good) &&
                           plant_after("limits_files", "lets no file grow", [] { limit({RLIMIT_FSIZE}, true); }) &&
                           plant_after("sets_openmp", "sets OpenMP", set_openmp);

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

/// Invalid records: each kernel is refused, and no command stops because of them.
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
  Kernel size = mistaken("cpu/transpose/size");
  size.tunables = {{.name = "n", .values = {4}}};
  add_kernel(size);
  add_kernel(mistaken("gpu/transpose/no_launch"));
  Kernel no_requested = mistaken("gpu/transpose/no_requested");
  no_requested.gpu.launch = [](const Params&) { return Launch{}; };
  no_requested.gpu.emulate = [](const Call&) {};
  Kernel does_nothing = mistaken("gpu/transpose/does_nothing");
  does_nothing.gpu.launch = no_requested.gpu.launch;
  does_nothing.run = {};
  add_kernel(does_nothing);
  return add_kernel(no_requested);
}

/// Kernels with valid records that fail when they are called.
bool add_failing(
    const char* name, std::function<void(const Call&)> emulate,
    std::function<Launch(const Params&)> launch = [](const Params&) {
      return Launch{{1}, {1}};
    }) {
  Kernel kernel = mistaken(name);
  kernel.run = nullptr;
  kernel.gpu.launch = std::move(launch);
  kernel.gpu.requested = [](const Params&) { return Traffic{}; };
  kernel.gpu.emulate = std::move(emulate);
  return add_kernel(kernel);
}

const bool failing =
    add_failing("gpu/transpose/fails_operand", [](const Call& call) { *call.operand<float>(2) = 0; }) &&
    add_failing("gpu/transpose/fails_throw", [](const Call&) { throw std::runtime_error("oops"); }) &&
    add_failing(
        "gpu/transpose/fails_size", [](const Call&) {}, [](const Params& p) { return Launch{{unsigned(p.at("nn"))}}; });
const bool mistakes = add_mistakes();

}  // namespace
}  // namespace rung
