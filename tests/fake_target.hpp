/// A target whose clock is a number: kernels take the time that the test gives them, and every call is written down.
#pragma once

#include <chrono>
#include <cstdlib>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/machine/target.hpp"

namespace rung {

class FakeTarget final : public Target {
 public:
  /// Seconds of one run, by the kernel's name.
  explicit FakeTarget(std::map<std::string, double> seconds) : seconds_(std::move(seconds)) {}

  double mhz = 0, watts = 0, least_energy_seconds = std::numeric_limits<double>::infinity();
  std::map<std::string, double> really_takes;  ///< seconds of the wall clock that an interval of that kernel costs
  std::map<std::string, int> fails_after;      ///< timed intervals of that kernel
  bool loses_device = false;                   ///< when a kernel fails
  std::function<bool(std::size_t)> disturbs;   ///< whether other work disturbs the interval of that number, from 1
  std::vector<std::string> timed, warmed;      ///< the kernels' names in order; warmed: run first after settle()

  static Kernel kernel(const std::string& name) {
    Kernel kernel;
    kernel.name = name;
    return kernel;
  }

  std::size_t free_bytes() const override { return std::size_t{1} << 30; }
  void* allocate(std::size_t bytes) override { return std::malloc(bytes); }
  void release(void* memory) noexcept override { std::free(memory); }
  void upload(void*, const void*, std::size_t) override {}
  void download(void*, const void*, std::size_t) override {}
  std::string refuse(const Kernel&, const Call&) const override { return ""; }
  void settle(const std::set<int>&) override { has_settled_ = true; }
  void run(const Kernel& kernel, const Call&) override {
    if (std::exchange(has_settled_, false)) warmed.push_back(kernel.name);
  }

  double time(const Kernel& kernel, const Call&, std::int64_t runs, Mode mode) override {
    energy_j_.reset();
    if (const auto fails = fails_after.find(kernel.name); fails != fails_after.end() && fails->second-- == 0) {
      if (loses_device) throw DeviceLost("lost");
      throw Error("failed");
    }
    timed.push_back(kernel.name);
    if (const auto slow = really_takes.find(kernel.name); slow != really_takes.end())
      std::this_thread::sleep_for(std::chrono::duration<double>(slow->second));
    // Noise that no median's interval of a per cent calls converged.
    const double noise = kernel.name.ends_with("noisy") ? 1 + 0.3 * double(timed.size() % 7) : 1;
    const double took = seconds_.at(kernel.name) * noise * static_cast<double>(runs);
    if (mode == Mode::hot && took >= least_energy_seconds) energy_j_ = watts * took;
    return took;
  }
  double resolved_seconds() const override { return 25e-6; }
  Disturbance disturbance() override {
    const bool is_one = disturbs && disturbs(timed.size());
    return {.seconds = 1,
            .waited = is_one ? 0.5 : 0,
            .switches = {},
            .stolen = {},
            .others = {},
            .threads = {},
            .device_others = {}};
  }
  DeviceState state() override {
    return {.clock_mhz = mhz > 0 ? std::optional(mhz - double(timed.size())) : std::nullopt, .throttled = ""};
  }
  std::optional<double> energy_j() const override { return energy_j_; }
  double energy_seconds() const override { return least_energy_seconds; }
  nlohmann::json context() const override { return {}; }

 private:
  bool has_settled_ = false;
  std::map<std::string, double> seconds_;
  std::optional<double> energy_j_;
};

}  // namespace rung
