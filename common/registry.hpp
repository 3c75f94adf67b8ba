/// The records that everything else reads: a kernel, the arguments of one call of it, and the one list of kernels.
/// A kernel describes itself once, in its own file, with add_kernel(); a problem likewise with add_problem().
/// Registering only stores data: no CUDA call, no allocation on a device, no work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rung {

/// A user's mistake or a machine's limit, described in one line: what, where, what to do. Shown without a stack trace.
struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The place for results cannot be written.
struct OutputError : Error {
  using Error::Error;
};

/// A kernel's result was wrong, or it could not run to its end.
struct WrongResult : Error {
  using Error::Error;
};

/// A GPU was requested and there is none.
struct NoGpuError : Error {
  using Error::Error;
};

/// The value of a size or tunable: a whole number, or a word for one (its place among the tunable's words).
struct Value {
  std::int64_t number = 0;
  std::string word;  ///< empty for a plain number

  Value() = default;
  Value(std::int64_t plain) : number(plain) {}
  Value(std::int64_t place, std::string name) : number(place), word(std::move(name)) {}

  std::string text() const { return word.empty() ? std::to_string(number) : word; }
  bool operator==(const Value&) const = default;
};

/// Values by name, in the order given: the sizes of a problem and the tunables of a kernel,
/// e.g. {tile:16, m:4096, n:4096, k:4096}.
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<std::string, Value>> entries) : entries_(entries) {}

  /// The value of `name` as a number, a word's place; throws Error when there is none.
  std::int64_t at(std::string_view name) const { return value(name).number; }
  const Value& value(std::string_view name) const;
  /// The value of `name`, or `otherwise`.
  std::int64_t get(std::string_view name, std::int64_t otherwise) const;
  bool has(std::string_view name) const;
  /// Adds `name`, or replaces its value in place.
  void set(std::string_view name, Value value);
  /// "tile:16/n:4096": the entries as in a point's name.
  std::string text() const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  bool operator==(const Params&) const = default;

 private:
  const Value* find(std::string_view name) const;  ///< null when there is none

  std::vector<std::pair<std::string, Value>> entries_;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  std::size_t count() const { return std::size_t{x} * y * z; }
  bool operator==(const Extent&) const = default;
};

/// The shape of a GPU launch.
struct Launch {
  Extent grid, block;
  std::size_t dynamic_shared_bytes = 0;
  bool operator==(const Launch&) const = default;
};

/// Bytes that the code requests from memory, before any cache: every executed load and store of global memory.
struct Traffic {
  double loaded = 0, stored = 0;
};

/// Bytes across each boundary of a CPU's memory hierarchy during one call: both directions, all threads together.
struct LevelTraffic {
  double l1 = 0;    ///< between registers and L1: every executed load and store
  double l2 = 0;    ///< between L1 and L2
  double l3 = 0;    ///< between L2 and L3
  double dram = 0;  ///< between the last cache and memory
};

/// What the compiler and the driver report about a compiled GPU kernel.
struct Resources {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;
  int blocks_per_sm = 0;  ///< resident blocks by the CUDA occupancy API
};

/// The data types of operands; a problem is registered for the type of its inputs. tf32 is stored as float32.
enum class Type { fp64, fp32, tf32, bf16, fp16, fp8, int8, int32, uint32 };

const char* type_name(Type type);
std::size_t type_bytes(Type type);

/// What a kernel does with an operand. Scratch is the kernel's own: its contents are not judged.
enum class Role { input, output, in_out, scratch };

/// Where an operand lies. A CPU and the emulator have one memory for all. With a GPU there is the host's memory, too:
/// pageable, as every allocation is, or pinned, so that the GPU can access it directly.
enum class Place { device, pageable, pinned };

/// An array in the memory of the device that the kernel runs on, or of its host.
struct Operand {
  std::string name;
  std::size_t elements = 0;
  Type type = Type::fp32;
  Role role = Role::input;
  bool is_zeroed = false;  ///< scratch: zero before the first call; else it holds NaN
  Place place = Place::device;

  bool is_input() const { return role == Role::input || role == Role::in_out; }
  bool is_output() const { return role == Role::output || role == Role::in_out; }
  std::size_t bytes() const { return elements * type_bytes(type); }
};

/// One call of a kernel.
struct Call {
  Params params;                     ///< sizes and tunables
  std::vector<void*> operands = {};  ///< one pointer per operand of the problem, then one per scratch operand
  Launch launch = {};                ///< GPU only: what the record's .launch gave
  void* stream = nullptr;            ///< GPU only: the cudaStream_t to launch on

  /// Operand i, in the problem's order; the kernel's scratch comes after them.
  template <typename T>
  T* operand(std::size_t i) const {
    return static_cast<T*>(operands.at(i));
  }
};

/// A parameter of a kernel with its allowed values. The default is the first, or what `preferred` finds best for this
/// machine: one of the values.
struct Tunable {
  std::string name;
  std::vector<Value> values;  ///< numbers, or words()
  std::function<std::int64_t()> preferred = {};
  std::string what = {};  ///< what a value counts, for tables: "registers per thread"; empty where the name says it

  Value standard() const { return preferred ? Value(preferred()) : values.front(); }
};

/// The values of a tunable in words: each stands for its place in the list. Words have no blanks, '/', ':' or '='.
std::vector<Value> words(std::initializer_list<const char*> list);

/// The values that a kernel is compiled for: one list for the record (`.values = Choices<16, 8>::values()`) and for the
/// call (`Choices<16, 8>::pick(call.params.at("tile"), [&](auto tile) { … kernel<tile> … })`).
template <int... Choice>
struct Choices {
  static std::vector<Value> values() { return {Value(Choice)...}; }
  template <typename Function>
  static void pick(std::int64_t wanted, Function&& function) {
    ((wanted == Choice ? function(std::integral_constant<int, Choice>{}) : void()), ...);
  }
};

/// Where an idea comes from: an entry of experiments/sources.toml, and the place in it ("section 5.4, figure 5.9").
struct Citation {
  std::string id;
  std::string where = {};
};

/// Marks a kernel that measures a ceiling of the roofline: its best rate becomes the roof `label`.
struct Ceiling {
  std::string label;         ///< "DRAM", "L2", "FP32 FMA"
  bool is_bandwidth = true;  ///< GB/s of the compulsory bytes; else GFLOP/s
};

/// The bound on a kernel's errors, where its algorithm is less accurate than the usual one. The results report it.
struct ErrorBound {
  double factor = 1;     ///< by which the problem's bound is multiplied
  bool by_norm = false;  ///< the bound is the problem's for all elements together, not for each
  bool operator==(const ErrorBound&) const = default;
};

/// What only a GPU kernel's record has.
struct GpuPart {
  int min_compute_capability = 0;  ///< 80 for 8.0
  std::string not_emulated = {};   ///< why the emulator cannot run it; empty if it can
  /// Its blocks wait for each other within a launch. How often each polls is random, so the emulator counts them one at
  /// a time, in the order in which they begin: no block polls twice.
  bool blocks_wait = false;
  bool pins_host = false;                       ///< operands that its problem has in pageable memory are pinned for it
  bool has_timeline = false;                    ///< the results include when each of its copies and launches ran
  std::function<Launch(const Params&)> launch;  ///< the launch shape; empty for a library, whose launches are its own
  std::function<Traffic(const Params&)> requested;  ///< global bytes by formula; needed where the emulator counts them
  std::function<void(const Call&)> emulate;         ///< filled in by the emulator's traced build of the same file
  std::function<void(const Call&)> answer;          ///< the same without any counting, by its plain build
};

/// What only a CPU kernel's record has.
struct CpuPart {
  bool is_serial = false;  ///< uses one thread, however many it is given: judged by one thread's roofs
  std::function<LevelTraffic(const Params&)> level_traffic;  ///< bytes per level by formula, for this machine's caches
};

/// One kernel: declared once, in its own file. The name's parts are side/family/variant: "gpu/matmul/tiled".
/// Family and type name the problem that it solves. Empty functions mean "not declared", never "zero".
struct Kernel {
  std::string name;
  int order = 0;      ///< place on the ladder, from the textbook up
  std::string title;  ///< a few words for axes and tables
  std::string idea;   ///< one sentence: what this rung adds
  std::vector<Citation> source;
  Type type = Type::fp32;   ///< of the inputs
  bool is_library = false;  ///< a third-party implementation, called through this record
  bool is_general = false;  ///< takes whatever its problem allows: leading dimensions, factors, unaligned operands
  std::vector<std::string> takes = {};  ///< of its problem's special sizes, those that it takes: "layout"
  ErrorBound error_bound;
  std::vector<Tunable> tunables;
  std::optional<Ceiling> ceiling;
  std::function<std::string(const Params&)> refuse;  ///< why this case is not allowed; empty if it is
  std::function<Params()> sizes;                     ///< sizes that follow from the machine, not from the user
  std::function<std::vector<Operand>(const Params&)> scratch;  ///< memory besides the operands, allocated untimed
  GpuPart gpu;
  CpuPart cpu;
  std::function<void(const Call&)> reset;  ///< before each run, untimed: restores what a run consumes, fills constants
  std::function<void(const Call&)> run;    ///< executes it (GPU: enqueues it) on `operands`

  std::string side() const;    ///< "cpu" or "gpu"
  std::string family() const;  ///< "matmul"
};

/// Adds a kernel; a second record of the same name from the emulator's build is merged into the first.
/// Returns true, so that a file can say `static const bool added = add_kernel({...});`.
bool add_kernel(Kernel kernel);

/// Every kernel, sorted by side, family, order and name. Throws Error if there is none: the link dropped them.
const std::vector<Kernel>& kernels();

/// The kernel called `name`; throws Error with the nearest name if there is none.
const Kernel& find_kernel(std::string_view name);

/// Kernels whose name matches a glob ("cpu/matmul/*"); throws Error with the nearest name if none does.
std::vector<const Kernel*> match_kernels(std::string_view pattern);

/// The entry of `names` nearest to `wrong` by edit distance; empty if none is near.
std::string nearest(std::string_view wrong, std::span<const std::string> names);

/// "; did you mean 'name'?" for the nearest of `names`, or nothing.
std::string did_you_mean(std::string_view wrong, std::span<const std::string> names);

/// The default tunables of a kernel, overridden by what `given` has. Throws Error for a value that is not allowed.
Params with_tunables(const Kernel& kernel, const Params& given);

}  // namespace rung
