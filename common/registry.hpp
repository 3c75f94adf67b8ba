/// The records that everything else reads: what a kernel is, what one call of it gets, and the one list of kernels.
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

/// A user's mistake or a machine's limit, told in one line: what, where, what to do. Shown without a stack trace.
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

/// A GPU was asked for and there is none.
struct NoGpuError : Error {
  using Error::Error;
};

/// Whole numbers by name, in the order given: the sizes of a problem and the tunables of a kernel,
/// e.g. {tile:16, m:4096, n:4096, k:4096}.
class Params {
 public:
  Params() = default;
  Params(std::initializer_list<std::pair<std::string, std::int64_t>> entries) : entries_(entries) {}

  /// The value of `name`; throws Error when there is none.
  std::int64_t at(std::string_view name) const;
  /// The value of `name`, or `otherwise`.
  std::int64_t get(std::string_view name, std::int64_t otherwise) const;
  bool has(std::string_view name) const;
  /// Adds `name`, or replaces its value in place.
  void set(std::string_view name, std::int64_t value);
  /// "tile:16/n:4096": the entries as they stand in a point's name.
  std::string text() const;

  auto begin() const { return entries_.begin(); }
  auto end() const { return entries_.end(); }
  bool empty() const { return entries_.empty(); }
  bool operator==(const Params&) const = default;

 private:
  const std::int64_t* find(std::string_view name) const;  ///< null when there is none

  std::vector<std::pair<std::string, std::int64_t>> entries_;
};

struct Extent {
  unsigned x = 1, y = 1, z = 1;
  std::size_t count() const { return std::size_t{x} * y * z; }
};

/// The shape of a GPU launch.
struct Launch {
  Extent grid, block;
  std::size_t dynamic_shared_bytes = 0;
};

/// Bytes that the code asks the memory system for, before any cache: every executed load and store of global memory.
struct Traffic {
  double loaded = 0, stored = 0;
};

/// Bytes that cross each boundary of a CPU's memory hierarchy during one call, both ways, all threads together.
struct LevelTraffic {
  double l1 = 0;    ///< between registers and L1: every executed load and store
  double l2 = 0;    ///< between L1 and L2
  double l3 = 0;    ///< between L2 and L3
  double dram = 0;  ///< between the last cache and memory
};

/// What the compiler and the driver say of a compiled GPU kernel.
struct Resources {
  int registers_per_thread = 0;
  std::size_t static_shared_bytes = 0;
  std::size_t local_bytes = 0;
  int blocks_per_sm = 0;  ///< resident blocks by the CUDA occupancy API
};

/// One call of a kernel. `operands` are host or device pointers in the problem's order.
struct Call {
  Params params;                 ///< sizes and tunables
  std::vector<void*> operands;   ///< one pointer per operand of the problem
  Launch launch;                 ///< GPU only: what the record's .launch gave
  void* stream = nullptr;        ///< GPU only: the cudaStream_t to launch on
  Resources* inspect = nullptr;  ///< if set, the launch is not made: the kernel's resources are filled in instead

  /// Operand i; null while only the kernel's resources are asked for, before there are any operands.
  template <typename T>
  T* operand(std::size_t i) const {
    return inspect ? nullptr : static_cast<T*>(operands.at(i));
  }
};

/// A parameter of a kernel with its allowed values. The default is the first, or what `preferred` finds best for this
/// machine: one of the values.
struct Tunable {
  std::string name;
  std::vector<std::int64_t> values;
  std::function<std::int64_t()> preferred = {};

  std::int64_t standard() const { return preferred ? preferred() : values.front(); }
};

/// The values that a kernel is compiled for: one list for the record (`.values = Choices<16, 8>::values()`) and for the
/// call (`Choices<16, 8>::pick(call.params.at("tile"), [&](auto tile) { … kernel<tile> … })`).
template <int... Value>
struct Choices {
  static std::vector<std::int64_t> values() { return {Value...}; }
  template <typename Function>
  static void pick(std::int64_t wanted, Function&& function) {
    ((wanted == Value ? function(std::integral_constant<int, Value>{}) : void()), ...);
  }
};

/// Marks a kernel that measures a ceiling of the roofline: its best rate becomes the roof `label`.
struct Ceiling {
  std::string label;         ///< "DRAM", "L2", "FP32 FMA"
  bool is_bandwidth = true;  ///< GB/s of the compulsory bytes; else GFLOP/s
};

/// One kernel: declared once, in its own file. The name's parts are side/family/variant: "gpu/matmul/tiled".
/// The family is the problem that it solves. Empty functions mean "nothing to say", never "zero".
struct Kernel {
  std::string name;
  int order = 0;       ///< place on the ladder, from the textbook up
  std::string title;   ///< a few words for axes and tables
  std::string idea;    ///< one sentence: what this rung adds
  std::string source;  ///< document, section, figure; or the library
  std::string precision = "fp32";
  bool is_library = false;  ///< a peer: somebody else's code behind our call
  bool is_general = false;  ///< takes whatever its problem allows: leading dimensions, factors, unaligned operands
  std::vector<Tunable> tunables;
  int min_compute_capability = 0;  ///< 80 for 8.0
  std::string not_emulated;        ///< GPU: why the emulator cannot run it; empty if it can
  std::optional<Ceiling> ceiling;
  std::function<std::string(const Params&)> refuse;  ///< why this case is not allowed; empty if it is
  std::function<Params()> sizes;                     ///< sizes that follow from the machine, not from the user
  std::function<Launch(const Params&)> launch;       ///< GPU: the launch shape
  std::function<Traffic(const Params&)> requested;   ///< requested global bytes, by formula
  std::function<LevelTraffic(const Params&)>
      level_traffic;                         ///< CPU: bytes per level by formula, for this machine's caches
  std::function<void(const Call&)> run;      ///< executes it (GPU: enqueues it) on `operands`
  std::function<void(const Call&)> emulate;  ///< filled in by the emulator's traced build of the same file
  std::function<void(const Call&)> answer;   ///< the same without any counting, by its plain build

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
