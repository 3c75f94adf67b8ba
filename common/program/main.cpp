/// The program `rung`. Exit codes: 0 done; 1 a kernel gave a wrong result, failed or is refused; 2 wrong usage or bad
/// input; 3 a GPU was required and there is none; 4 the results cannot be written; 130 interrupted, what was done is
/// kept.
#include <fcntl.h>
#include <fmt/core.h>
#include <malloc.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <map>
#include <new>
#include <stdexcept>

#include "common/harness/environment.hpp"
#include "common/harness/interrupt.hpp"
#include "common/harness/supervisor.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/loaded_libraries.hpp"
#include "common/machine/openblas.hpp"
#include "common/printable.hpp"
#include "common/program/commands.hpp"
#include "common/program/version.hpp"
#include "common/registry.hpp"

namespace rung {
namespace {

void say_and_end(int code, const char* text) {  // in signal handlers, and before main()
  const ssize_t wrote = write(STDERR_FILENO, text, std::strlen(text));
  _exit(wrote < 0 ? 4 : code);
}

/// Kernels register themselves before main(), where no exception can be caught.
struct MemoryToStartWith {
  MemoryToStartWith() {
    std::set_new_handler([] { say_and_end(2, "rung: there is no memory to start with\n"); });
  }
};
[[gnu::init_priority(101)]] const MemoryToStartWith memory_to_start_with;

/// The processors that this process was given: OpenMP binds the first thread before main(), and a program that is
/// started again would take that for all there are.
cpu_set_t processors_at_start;
bool knows_processors = false;

/// Libraries that start before main() retry an allocation for ever, or crash, where `ulimit -v` forbids it: OpenBLAS
/// does either. Called before all of them.
void watch_the_start(int, char**, char**) {
  constexpr unsigned kSeconds = 20;
  knows_processors = sched_getaffinity(0, sizeof processors_at_start, &processors_at_start) == 0;
  rlimit most{};
  if (getrlimit(RLIMIT_AS, &most) != 0 || most.rlim_cur == RLIM_INFINITY) return;
  for (const int signal : {SIGALRM, SIGSEGV})
    std::signal(signal, [](int) {
      say_and_end(2, "rung: its libraries cannot start within the memory that `ulimit -v` allows: raise the limit\n");
    });
  alarm(kSeconds);
}
[[gnu::section(".preinit_array"), gnu::used]] void (*const before_libraries)(int, char**, char**) = watch_the_start;

void libraries_have_started() {
  alarm(0);
  std::signal(SIGALRM, SIG_DFL);
  std::signal(SIGSEGV, SIG_DFL);
}

constexpr const char* kNoMemory = "there is not enough memory";

/// Destructors of JSON values allocate; where they cannot, the exception cannot be caught.
[[noreturn]] void end_without_memory() {
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "rung: %s\n", kNoMemory);
    _exit(announce_end(2));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rung: %s\n", error.what());
  } catch (...) {
  }
  std::abort();
}

int failure(int code, const std::exception& error) {
  std::fflush(stdout);
  std::fputs(("rung: " + printable(error.what()) + "\n").c_str(), stderr);  // fails in silence where that is closed
  return code;
}

/// Starts the program again where variables have to change before the libraries start
/// (common/environment.toml), or OpenBLAS, which chooses its code before main(), did not know the CPU: a peer
/// that is held back is none.
void choose_environment(int argc, char** argv) {
  const std::string word = argc > 1 ? argv[1] : "", core = better_openblas_core();
  std::map<std::string, std::string> further;
  if (!core.empty()) further["OPENBLAS_CORETYPE"] = core;
  start_with_own_environment(argv, word == "run" || word == "ceilings", further, [] {
    if (knows_processors) sched_setaffinity(0, sizeof processors_at_start, &processors_at_start);
  });
}

/// Freed arrays stay mapped for the next ones (Host::free_bytes() releases them where memory is short): mapping new
/// pages takes up to a second per gigabyte, which checks would spend repeatedly.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
}

/// Where a standard stream was closed (>&-), the next file to be opened would get its number, and what is printed.
void fill_standard_streams() {
  for (int descriptor = open("/dev/null", O_RDWR); descriptor >= 0; descriptor = dup(descriptor))
    if (descriptor > STDERR_FILENO) {
      close(descriptor);
      return;
    }
}

/// Whether standard output is a pipe whose reader has read what it wanted: no fault of this program's.
bool has_reader_left() {
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  return poll(&output, 1, 0) == 1 && (output.revents & POLLERR);
}

int run(int argc, char** argv) {
  CommandLine line("rung",
                   "GPU against CPU, measured: kernels from the textbook to the roof, counted, verified and timed.");
  Command program = line.program();
  program.add_version("--version", version_text(), "version, commit, compilers and libraries");
  program.footer(
      "Exit codes: 0 done, 1 a kernel is wrong, failed or is refused for what its record says, 2 wrong usage or "
      "input,\n"
      "3 no GPU though one was required,\n"
      "4 results cannot be written, 130 interrupted (what was measured is kept).");
  add_commands(program);
  check_cpu_threads();
  line.parse(argc, argv);
  if ((std::fflush(stdout) != 0 || std::ferror(stdout)) && !has_reader_left())
    throw OutputError(std::string("cannot write to standard output: ") + std::strerror(errno));
  return 0;
}

int guarded_run(int argc, char** argv) {
  try {
    choose_environment(argc, argv);
    return run(argc, argv);
  } catch (const WrongResult& error) {
    return failure(1, error);
  } catch (const NoGpuError& error) {
    return failure(3, error);
  } catch (const OutputError& error) {
    return failure(4, error);
  } catch (const std::bad_alloc&) {
    return failure(2, std::runtime_error(kNoMemory));
  } catch (const std::filesystem::filesystem_error& error) {  // its own text names a function of C++
    return failure(2, std::runtime_error(error.path1().string() + ": " + error.code().message()));
  } catch (const std::system_error& error) {  // of printing
    if (has_reader_left()) return 0;
    return failure(4, std::runtime_error(std::string("standard output: ") + error.what()));
  } catch (const std::exception& error) {
    return failure(2, error);
  }
}

}  // namespace
}  // namespace rung

int main(int argc, char** argv) {
  rung::libraries_have_started();
  std::set_new_handler(nullptr);  // from here on it is an exception
  std::set_terminate(rung::end_without_memory);
  rung::fill_standard_streams();
  rung::keep_freed_memory();
  rung::catch_interrupts();
  rung::loaded_libraries();
  std::signal(SIGXFSZ, SIG_IGN);  // a file that grows too large (ulimit -f) is an error of write()
  const int code = rung::announce_end(rung::guarded_run(argc, argv));
  if (!rung::is_looked_after()) return code;
  std::fflush(nullptr);
  _exit(code);  // results are written: what a kernel's code would have called at the end is not
}
