#include "common/program/occupancy_plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "common/program/quantity.hpp"

namespace rung {
namespace {

constexpr double kLeft = 64, kTop = 78, kPanelWidth = 250, kPanelHeight = 190, kGap = 40;
constexpr double kWidth = kLeft + 3 * kPanelWidth + 2 * kGap + 24, kHeight = kTop + kPanelHeight + 62;
constexpr const char* kInk = "#222222";
constexpr const char* kGrid = "#dddddd";
constexpr const char* kLine = "#0072b2";  // blue and vermilion: distinct for colour-blind readers, too
constexpr const char* kMark = "#d55e00";

/// One staircase: the values of a resource along x.
struct Panel {
  const char* title;
  std::int64_t BlockNeeds::*resource;
  std::int64_t least, most, step, tick;
  std::int64_t unit;  ///< what a tick's number counts, in the resource's own units
};

std::string text(double x, double y, const std::string& words, const char* anchor, int size = 12,
                 const char* colour = kInk) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\" font-size=\"{}\" fill=\"{}\">{}</text>\n", x,
                     y, anchor, size, colour, words);
}

std::string segment(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x1, y1, x2, y2,
                     colour);
}

class Staircase {
 public:
  Staircase(const SmLimits& sm, const BlockNeeds& block, const Panel& panel, double left)
      : sm_(sm), block_(block), panel_(panel), left_(left) {}

  std::string draw() const { return axes() + stairs() + mark(); }

 private:
  double x(std::int64_t value) const {
    return left_ + kPanelWidth * static_cast<double>(value) / static_cast<double>(panel_.most);
  }
  static double y(double fraction) { return kTop + kPanelHeight * (1 - fraction); }

  double fraction(std::int64_t value) const {
    BlockNeeds block = block_;
    if (panel_.resource == &BlockNeeds::threads && value != block.threads) block.z = 1;  // other blocks are rows
    block.*panel_.resource = value;
    return occupancy(sm_, block).fraction();
  }

  std::string axes() const {
    std::string svg;
    for (const int percent : {0, 25, 50, 75, 100}) {
      svg += segment(left_, y(percent / 100.0), left_ + kPanelWidth, y(percent / 100.0), percent == 0 ? kInk : kGrid);
      if (left_ == kLeft) svg += text(left_ - 8, y(percent / 100.0) + 4, fmt::format("{} %", percent), "end");
    }
    for (std::int64_t value = 0; value <= panel_.most; value += panel_.tick) {
      svg += segment(x(value), y(0), x(value), y(0) + 5, kInk);
      svg += text(x(value), y(0) + 19, std::to_string(value / panel_.unit), "middle");
    }
    return svg + text(left_ + kPanelWidth / 2, y(0) + 42, panel_.title, "middle", 13);
  }

  /// A new point wherever the height changes: the line stays short however fine the steps are.
  std::string stairs() const {
    double height = fraction(panel_.least);
    std::string path = fmt::format("M{:.2f} {:.2f}", x(panel_.least), y(height));
    for (std::int64_t value = panel_.least + panel_.step; value <= panel_.most; value += panel_.step)
      if (const double next = fraction(value); next != height) {
        // Down at once after the last value that has the height; a block size is a point of its own, and rises slowly.
        path += fmt::format("H{:.2f}V{:.2f}", x(value), y(next));
        height = next;
      }
    path += fmt::format("H{:.2f}", x(panel_.most));
    return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.8\"/>\n", path, kLine);
  }

  /// The block itself. Its label keeps off the staircase: above a low point, below a high one, and within the panel.
  std::string mark() const {
    const std::int64_t value = block_.*panel_.resource;
    if (value < panel_.least || value > panel_.most) return "";
    const double height = fraction(value), at = x(value);
    const double share = (at - left_) / kPanelWidth;
    const char* anchor = share < 0.2 ? "start" : share > 0.8 ? "end" : "middle";
    const std::string label =
        panel_.unit == 1 ? std::to_string(value) : fmt::format("{:.4g}", static_cast<double>(value) / panel_.unit);
    std::string svg = fmt::format(
        "<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{0:.1f}\" y2=\"{2:.1f}\" stroke=\"{3}\" "
        "stroke-dasharray=\"3 3\"/>\n",
        at, y(0), y(height), kMark);
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4.5\" fill=\"{}\"/>\n", at, y(height), kMark);
    // Above the frame, where no staircase can be.
    return svg + text(at, kTop - 10, fmt::format("{}: {:.1f} %", label, 100 * height), anchor, 12, kMark);
  }

  const SmLimits& sm_;
  const BlockNeeds& block_;
  const Panel& panel_;
  double left_;
};

/// The name as XML text.
std::string escaped(const std::string& name) {
  std::string safe;
  for (const char c : name) safe += c == '&' ? "&amp;" : c == '<' ? "&lt;" : std::string(1, c);
  return safe;
}

std::string title(const std::string& device, const SmLimits& sm, const BlockNeeds& block) {
  const Occupancy o = occupancy(sm, block);
  const std::string registers =
      block.registers_per_thread == 0 ? "" : fmt::format(", {} registers per thread", block.registers_per_thread);
  const std::string verdict = o.runs() ? fmt::format("{:.1f} %, limited by {}", 100 * o.fraction(), o.limiter)
                                       : "cannot run: too much of " + o.limiter;
  return text(kLeft, 24, fmt::format("Occupancy on {}: {}", escaped(device), verdict), "start", 16) +
         text(kLeft, 44,
              fmt::format("a block of {} threads{}, {} of shared memory", block.threads, registers,
                          bytes_text(block.shared_bytes)),
              "start", 12);
}

}  // namespace

std::string occupancy_plot(const std::string& device, const SmLimits& sm, const BlockNeeds& block) {
  const std::int64_t shared_tick = sm.shared_per_block_optin > 128 * 1024  ? 32 * 1024
                                   : sm.shared_per_block_optin > 48 * 1024 ? 16 * 1024
                                                                           : 8 * 1024;
  const std::int64_t register_tick = sm.registers_per_thread > 128 ? 32 : 16;
  const Panel panels[] = {
      {"threads in a block", &BlockNeeds::threads, 1, sm.threads_per_block, 1, sm.threads_per_block / 8, 1},
      {"registers per thread", &BlockNeeds::registers_per_thread, 1, sm.registers_per_thread, 1, register_tick, 1},
      {"KiB of shared memory in a block", &BlockNeeds::shared_bytes, 0, sm.shared_per_block_optin, 128, shared_tick,
       1024},
  };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"Helvetica, Arial, sans-serif\">\n<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kWidth, kHeight);
  svg += title(device, sm, block);
  double left = kLeft;
  for (const Panel& panel : panels) {
    svg += Staircase(sm, block, panel, left).draw();
    left += kPanelWidth + kGap;
  }
  return svg + "</svg>\n";
}

}  // namespace rung
