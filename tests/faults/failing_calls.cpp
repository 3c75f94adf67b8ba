/// Loaded before the C library (LD_PRELOAD): lets one system call fail, or sets the clock back, as given by the
/// environment.
///   RUNG_FAIL=write:12         the 12th write(), fsync(), rename(), open(), flock(), unlink(), fork() or allocation
///                              ("alloc") of a process fails; with "all" for the number, each one
///   RUNG_ERRNO=38              with this error, instead of the usual one
///   RUNG_KILLS=FILE            the call does not fail, but ends its process by SIGKILL; once, and creates FILE
///   RUNG_FAIL_IN=libhwloc      only allocations by a library with this in its path are counted; else all except by
///                              CUDA's runtime, which registers kernels before main() without checking allocations
///   RUNG_FAILED=FILE           is created when the call fails; without it there was no 12th call
///   RUNG_CLOCK_BACK=SECONDS    from the second reading on, the calendar's clock is this much behind
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

extern "C" {
void* __libc_malloc(size_t) noexcept;
void* __libc_calloc(size_t, size_t) noexcept;
void* __libc_realloc(void*, size_t) noexcept;
void* __libc_memalign(size_t, size_t) noexcept;
}

namespace {

std::atomic<long> count{0};
std::atomic<int> clock_readings{0};

std::atomic<bool> is_started{false};  // the libraries' own constructors come before, where we can mend nothing

/// Whether this is the call that is to fail.
bool fails(const char* kind) {
  const char* wanted = getenv("RUNG_FAIL");
  const size_t length = strlen(kind);
  if (!is_started || !wanted || strncmp(wanted, kind, length) != 0 || wanted[length] != ':') return false;
  if (strcmp(wanted + length + 1, "all") == 0) return true;
  if (++count != strtol(wanted + length + 1, nullptr, 10)) return false;
  if (const char* mark = getenv("RUNG_KILLS")) {
    const long file = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (file >= 0) kill(getpid(), SIGKILL);
    return false;
  }
  if (const char* mark = getenv("RUNG_FAILED"))
    if (const long file = syscall(SYS_openat, AT_FDCWD, mark, O_WRONLY | O_CREAT, 0644); file >= 0)
      syscall(SYS_close, file);
  return true;
}

int failure(int usual) {
  const char* wanted = getenv("RUNG_ERRNO");
  errno = wanted ? static_cast<int>(strtol(wanted, nullptr, 10)) : usual;
  return -1;
}

template <typename Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

/// Whether it is a file, such as results and journals, and not the output of messages.
bool is_file(int descriptor) {
  struct stat found {};
  return fstat(descriptor, &found) == 0 && S_ISREG(found.st_mode);
}

/// Whether the allocation requested by the code at `caller` is to fail.
bool allocation_fails(const void* caller) {
  if (!is_started || !getenv("RUNG_FAIL")) return false;
  Dl_info found{};
  const char* library = dladdr(caller, &found) && found.dli_fname ? found.dli_fname : "";
  const char* within = getenv("RUNG_FAIL_IN");
  return (within ? strstr(library, within) != nullptr : !strstr(library, "libcudart")) && fails("alloc");
}

time_t behind() {
  const char* seconds = getenv("RUNG_CLOCK_BACK");
  return seconds && clock_readings++ > 0 ? strtol(seconds, nullptr, 10) : 0;
}

}  // namespace

extern "C" {

int __libc_start_main(int (*main)(int, char**, char**), int argc, char** argv, void (*init)(), void (*fini)(),
                      void (*loader_fini)(), void* stack_end) {
  is_started = true;
  using Start = int (*)(decltype(main), int, char**, void (*)(), void (*)(), void (*)(), void*);
  return next<Start>("__libc_start_main")(main, argc, argv, init, fini, loader_fini, stack_end);
}

ssize_t write(int descriptor, const void* text, size_t bytes) {
  if (is_file(descriptor) && fails("write")) return failure(ENOSPC);
  return syscall(SYS_write, descriptor, text, bytes);
}

int fsync(int descriptor) {
  if (fails("fsync")) return failure(EIO);
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

int rename(const char* from, const char* to) noexcept {
  if (fails("rename")) return failure(EACCES);
  return static_cast<int>(syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to));
}

int flock(int descriptor, int operation) noexcept {
  if (fails("flock")) return failure(EWOULDBLOCK);
  return static_cast<int>(syscall(SYS_flock, descriptor, operation));
}

int unlink(const char* path) noexcept {
  if (fails("unlink")) return failure(EACCES);
  return static_cast<int>(syscall(SYS_unlinkat, AT_FDCWD, path, 0));
}

pid_t fork() noexcept {
  if (fails("fork")) return failure(EAGAIN);
  return next<pid_t (*)()>("fork")();
}

int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
  va_end(rest);
  if (flags & (O_WRONLY | O_RDWR) && fails("open")) return failure(EMFILE);
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}

void* malloc(size_t bytes) noexcept {
  if (!allocation_fails(__builtin_return_address(0))) return __libc_malloc(bytes);
  errno = ENOMEM;
  return nullptr;
}

void* calloc(size_t count_of, size_t bytes) noexcept {
  if (!allocation_fails(__builtin_return_address(0))) return __libc_calloc(count_of, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* realloc(void* memory, size_t bytes) noexcept {
  if (!allocation_fails(__builtin_return_address(0))) return __libc_realloc(memory, bytes);
  errno = ENOMEM;
  return nullptr;
}

void* aligned_alloc(size_t alignment, size_t bytes) noexcept {
  if (!allocation_fails(__builtin_return_address(0))) return __libc_memalign(alignment, bytes);
  errno = ENOMEM;
  return nullptr;
}

time_t time(time_t* result) noexcept {
  timespec now{};
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  now.tv_sec -= behind();
  if (result) *result = now.tv_sec;
  return now.tv_sec;
}

int clock_gettime(clockid_t clock, timespec* now) noexcept {
  static const auto real = next<int (*)(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, now);
  if (clock == CLOCK_REALTIME) now->tv_sec -= behind();
  return result;
}

}  // extern "C"
