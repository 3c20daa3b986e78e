// Plots as inline SVG.
#pragma once

#include <string>
#include <vector>

#include "halfstep/tune/sensitivity/watch.h"

namespace halfstep::report {

/// How often numbers occur, with the ends of the codes' range as dashed lines and what lies beyond them as
/// outlines.
std::string histogram_plot(const sensitivity::Histogram& histogram, double low, double high, const std::string& title);

struct Series {
  std::string name;
  std::vector<double> x, y;
};
/// Lines with dots of different shapes, told apart by their names at the end.
std::string line_plot(const std::vector<Series>& series, const std::string& x_title, const std::string& y_title);

struct Bar {
  std::string name, note;  ///< note: the number in words, behind the bar
  double value = 0;
};
/// Bars from the left, the longest as wide as the plot.
std::string bar_plot(const std::vector<Bar>& bars, const std::string& title);

}  // namespace halfstep::report
