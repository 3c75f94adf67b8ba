/// `rung blur`: blurs a picture of the user's with any kernel of the family. The picture is a data set like the others:
/// the same buffers between guards, and the result is judged before it is written.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "common/harness/experiment.hpp"
#include "common/harness/workload.hpp"
#include "common/machine/cpu_info.hpp"
#include "common/machine/target.hpp"
#include "common/program/commands.hpp"
#include "common/program/picture.hpp"

namespace rung {
namespace {

struct Options {
  std::string image, out, kernel;
  int radius = 4, device = 0;
};

/// What the kernel runs on: the host, the GPU or, without one, the emulator.
std::unique_ptr<Target> target_of(const Kernel& kernel, int device) {
  if (kernel.side() == "cpu") return open_host();
  GpuTarget gpu = open_gpu(device);
  if (gpu.target) return std::move(gpu.target);
  if (!kernel.gpu.not_emulated.empty())
    throw NoGpuError(kernel.name + " needs a GPU (" + gpu.unavailable + ") and is not emulated");
  fmt::print("no GPU ({}): emulated\n", gpu.unavailable);
  return open_emulator();
}

/// Blurs one channel in place; returns the verdict on it.
Check blur_plane(Target& target, const Point& point, std::vector<float>& plane) {
  Problem problem = *point.problem;
  problem.fill = [&](const Params&, const DataSet&, std::uint64_t, std::span<void* const> host) {
    std::copy(plane.begin(), plane.end(), static_cast<float*>(host[0]));
  };
  Call call{.params = point.params()};
  if (point.kernel->gpu.launch) call.launch = point.kernel->gpu.launch(call.params);
  if (const std::string reason = target.refuse(*point.kernel, call); !reason.empty())
    throw Error(point.kernel->name + ": " + reason);
  const std::size_t bytes = 4 * workload_bytes(*point.kernel, problem, call.params);  // two inputs and what is right
  if (const std::string reason = shortage(bytes, available_memory(), ""); !reason.empty())
    throw Error(point.kernel->name + ": " + reason);
  const HostInputs inputs(problem, point.sizes, DataSet{.name = "image", .what = "the user's picture"}, 0);
  Workload work(target, *point.kernel, problem, call);
  const Check check = work.verify(inputs);
  target.download(plane.data(), work.call().operands[1], sizeof(float) * plane.size());
  return check;
}

void run(const Options& options) {
  const Kernel& kernel = options.kernel.empty() ? *match_kernels("cpu/blur/*").back() : find_kernel(options.kernel);
  if (kernel.family() != "blur") throw Error(kernel.name + " does not blur: see `rung list`");
  Picture picture = read_picture(options.image);
  const Point point =
      point_of(kernel, {{"m", picture.rows}, {"n", picture.cols}, {"radius", std::int64_t{options.radius}}});
  const auto target = target_of(kernel, options.device);
  double error = 0;
  for (std::vector<float>& plane : picture.planes) {
    const Check check = blur_plane(*target, point, plane);
    if (!check.passed()) throw WrongResult(point.name() + ": " + check.reason());
    if (check.judged.contains("max_error")) error = std::max(error, check.judged.at("max_error"));
  }
  write_picture(options.out, picture);
  fmt::print("{}: {} x {} pixels, {}, radius {}, by {}; right, with errors up to {:.1g} of the largest value\n",
             options.out, picture.cols, picture.rows, picture.planes.size() == 1 ? "grey" : "colour", options.radius,
             kernel.name, error);
}

void add(Command program) {
  auto options = std::make_shared<Options>();
  Command command = program.add_subcommand("blur", "blur a picture of yours (PGM or PPM) with a kernel of the suite");
  command.add_option("--image", options->image, "the picture: PGM or PPM, text or binary, 8 or 16 bits").required();
  command.add_option("--out", options->out, "the blurred picture, in the same format").required();
  command.add_option("--radius", options->radius, "pixels on every side that a mean is over (default: 4)");
  command.add_option("--kernel", options->kernel, "cpu/blur/… or gpu/blur/… (default: the top rung on the CPU)");
  command.add_option("-d,--device", options->device, "number of the GPU").within(0, 1023);
  command.callback([options] { run(*options); });
}

const bool added = add_command({.order = 110, .add = add});

}  // namespace
}  // namespace rung
