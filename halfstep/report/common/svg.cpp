#include "halfstep/report/common/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/report/common/html.h"

namespace halfstep::report {
namespace {

constexpr const char* kClosing = "</svg></div>\n";
constexpr double kWidth = 560, kHigh = 150, kLeft = 60, kBelow = 34;

/// On a narrow page the picture keeps its size and scrolls.
std::string opening(double width, double height, const std::string& title) {
  return fmt::format(
      "<div class=\"wide\" tabindex=\"0\"><svg role=\"img\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "width=\"{0:.0f}\"><title>{2}</title>\n",
      width, height, escaped(title));
}

std::string label(double x, double y, const std::string& text, const char* anchor = "middle") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor, escaped(text));
}

/// Counts merged into a limited number of bars, with the range from the first to the last bar that is not empty.
struct Bars {
  std::vector<double> counts;
  double low = 0, high = 0;
};

Bars bars_of(const sensitivity::Histogram& histogram) {
  constexpr size_t kMost = 64;
  const auto& counts = histogram.counts;
  const auto is_there = [](int64_t count) { return count > 0; };
  const auto first = static_cast<size_t>(std::ranges::find_if(counts, is_there) - counts.begin());
  if (first == counts.size()) return {};
  size_t last = counts.size() - 1;
  while (counts[last] == 0) --last;
  const size_t each = (last - first) / kMost + 1, bars = (last - first) / each + 1;
  const double step = (histogram.high - histogram.low) / static_cast<double>(counts.size());
  Bars result{std::vector<double>(bars, 0.0), histogram.low + step * static_cast<double>(first), 0};
  result.high = result.low + step * static_cast<double>(each * bars);
  for (size_t i = first; i <= last; ++i) result.counts[(i - first) / each] += static_cast<double>(counts[i]);
  return result;
}

/// The range of all numbers, widened slightly if all numbers are equal.
struct Axis {
  double low = 0, high = 1;
  double share(double value) const { return (value - low) / (high - low); }
};

Axis axis_of(const std::vector<Series>& series, std::vector<double> Series::*part) {
  Axis axis{INFINITY, -INFINITY};
  for (const Series& one : series) {
    for (const double value : one.*part) {
      axis.low = std::min(axis.low, value);
      axis.high = std::max(axis.high, value);
    }
  }
  if (!(axis.high > axis.low)) axis = {axis.low - 0.5, axis.low + 0.5};
  return axis;
}

/// A circle, a square or a diamond.
std::string dot(size_t kind, double x, double y) {
  if (kind % 3 == 0) return fmt::format("<circle class=\"dot\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3.5\"/>", x, y);
  if (kind % 3 == 1)
    return fmt::format("<rect class=\"dot\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"7\" height=\"7\"/>", x - 3.5, y - 3.5);
  return fmt::format("<path class=\"dot\" d=\"M{:.1f} {:.1f}l5 5l-5 5l-5 -5z\"/>", x, y - 5);
}

}  // namespace

std::string histogram_plot(const sensitivity::Histogram& histogram, double low, double high, const std::string& title) {
  const Bars bars = bars_of(histogram);
  if (bars.counts.empty()) return "<p>no values</p>\n";
  const double most = *std::ranges::max_element(bars.counts);
  const double from = std::min(bars.low, low), to = std::max(bars.high, high);
  const auto place = [&](double value) { return kLeft + (kWidth - kLeft) * (value - from) / (to - from); };
  const double each = (bars.high - bars.low) / static_cast<double>(bars.counts.size());
  std::string svg = opening(kWidth, kHigh + kBelow, title);
  for (size_t i = 0; i < bars.counts.size(); ++i) {
    // Heights are square roots, so that tails are visible.
    const double height = (kHigh - 10) * std::sqrt(bars.counts[i] / most);
    if (height <= 0) continue;
    const double left = bars.low + each * static_cast<double>(i), right = left + each;
    const bool outside = right <= low || left >= high;
    svg += fmt::format("<rect class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                       outside ? "bar bad" : "bar", place(left), kHigh - height,
                       std::max(0.5, place(right) - place(left) - 0.5), height);
  }
  for (const double end : {low, high})
    svg +=
        fmt::format("\n<line class=\"end\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"4\" y2=\"{1:.0f}\"/>", place(end), kHigh);
  svg += "\n" + label(place(low), kHigh + 14, fmt::format("{:.4g}", low)) +
         label(place(high), kHigh + 14, fmt::format("{:.4g}", high), "end") +
         label(kLeft, kHigh + 30, fmt::format("values {:.4g} to {:.4g}", bars.low, bars.high), "start");
  return svg + kClosing;
}

std::string line_plot(const std::vector<Series>& series, const std::string& x_title, const std::string& y_title) {
  constexpr double kRight = 110, kTall = 220;
  const Axis x = axis_of(series, &Series::x), y = axis_of(series, &Series::y);
  const auto at = [&](double value) { return kLeft + (kWidth - kLeft - kRight) * x.share(value); };
  const auto up = [&](double value) { return 10 + (kTall - 10) * (1 - y.share(value)); };
  std::string svg = opening(kWidth, kTall + kBelow, y_title + " by " + x_title);
  svg += fmt::format("<path class=\"axis\" d=\"M{0} 10V{1}H{2}\"/>\n", kLeft, kTall, kWidth - kRight);
  svg += label(kLeft - 4, 16, fmt::format("{:.4g}", y.high), "end") +
         label(kLeft - 4, kTall, fmt::format("{:.4g}", y.low), "end") +
         label(kLeft, kTall + 15, fmt::format("{:.4g}", x.low)) +
         label(kWidth - kRight, kTall + 15, fmt::format("{:.4g}", x.high)) +
         label((kLeft + kWidth - kRight) / 2, kTall + 30, x_title) + label(kLeft + 6, 16, y_title, "start");
  for (size_t s = 0; s < series.size(); ++s) {
    const Series& one = series[s];
    std::string path, dots;
    for (size_t i = 0; i < one.x.size(); ++i) {
      path += fmt::format("{}{:.1f} {:.1f}", i == 0 ? "M" : "L", at(one.x[i]), up(one.y[i]));
      dots += fmt::format("<g><title>{}: {:.6g}, {:.6g}</title>{}</g>", escaped(one.name), one.x[i], one.y[i],
                          dot(s, at(one.x[i]), up(one.y[i])));
    }
    if (one.x.empty()) continue;
    svg += fmt::format("<path class=\"line s{}\" d=\"{}\"/>{}\n", s % 3, path, dots) +
           label(at(one.x.back()) + 8, up(one.y.back()) + 4, one.name, "start");
  }
  return svg + kClosing;
}

std::string bar_plot(const std::vector<Bar>& bars, const std::string& title) {
  constexpr double kRow = 18, kNotes = 180, kLetter = 6.2;  // average letter width of most fonts at 11 pixels
  double most = 0, names = 0;
  for (const Bar& bar : bars) {
    most = std::max(most, bar.value);
    names = std::max(names, kLetter * static_cast<double>(bar.name.size()) + 12);
  }
  std::string svg = opening(kWidth + names, kRow * static_cast<double>(bars.size()) + 4, title);
  for (size_t i = 0; i < bars.size(); ++i) {
    const double top = kRow * static_cast<double>(i) + 2;
    const double width = most > 0 ? (kWidth - kNotes) * std::max(0.0, bars[i].value) / most : 0;
    svg += label(names - 6, top + 12, bars[i].name, "end") +
           fmt::format("<rect class=\"bar\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.1f}\" height=\"{}\"/>\n", names, top,
                       std::max(1.0, width), kRow - 4) +
           label(names + width + 6, top + 12, bars[i].note, "start");
  }
  return svg + kClosing;
}

}  // namespace halfstep::report
