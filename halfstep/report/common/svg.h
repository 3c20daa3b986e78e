// Plots as inline SVG.
#pragma once

#include <string>
#include <vector>

#include "halfstep/tune/sensitivity/watch.h"

namespace halfstep::report {

/// A histogram. Dashed lines are the ends of the codes' range, and values outside of it are outlines.
std::string histogram_plot(const sensitivity::Histogram& histogram, double low, double high, const std::string& title);

struct Series {
  std::string name;
  std::vector<double> x, y;
};
/// Lines with different dot shapes. The name of each series is at the end of its line.
std::string line_plot(const std::vector<Series>& series, const std::string& x_title, const std::string& y_title);

struct Bar {
  std::string name, note;  ///< note: the number as text, after the bar
  double value = 0;
};
/// Horizontal bars. The longest one fills the width of the plot.
std::string bar_plot(const std::vector<Bar>& bars, const std::string& title);

}  // namespace halfstep::report
