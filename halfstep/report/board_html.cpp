// Writes a comparison as a self-contained HTML page with tables and inline SVG, without scripts. Words and numbers
// repeat all information that colours show.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/report/board.h"
#include "halfstep/report/common/html.h"
#include "halfstep/report/common/text_table.h"

namespace halfstep::report {
namespace {

using board::Comparison;
using board::State;
using board::ValueComparison;

constexpr const char* kBoardStyle = R"(
.lost { fill: url(#hatch); } .mark { fill: none; stroke: var(--ink); stroke-width: 2; }
.guess { border-left: 4px solid var(--bad); padding-left: .8rem; }
)";

double share_of(const ValueComparison& value) {
  return value.elements == 0 ? 0 : static_cast<double>(value.differing) / static_cast<double>(value.elements);
}

/// A box for each value in execution order, filled from the bottom by the share of elements that differ.
std::string strip(const Comparison& comparison) {
  constexpr int kBox = 14, kHigh = 48, kAcross = 64;
  const auto count = static_cast<int>(comparison.values.size());
  const int rows = (count + kAcross - 1) / kAcross;
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\"><title>Values in the order of execution</title>"
      "<defs><pattern id=\"hatch\" width=\"4\" height=\"4\" patternUnits=\"userSpaceOnUse\"><path d=\"M0 4L4 0\" "
      "stroke=\"currentColor\"/></pattern></defs>\n",
      std::min(count, kAcross) * kBox + 4, rows * (kHigh + 8) + 4, std::min(count, kAcross) * kBox + 4);
  for (int i = 0; i < count; ++i) {
    const ValueComparison& value = comparison.values[static_cast<size_t>(i)];
    const int x = i % kAcross * kBox + 2, y = i / kAcross * (kHigh + 8) + 2;
    const bool lost = value.state == State::missing || value.state == State::extra;
    svg += fmt::format(
        "<g><title>{}: {}, {} of {} differ</title><rect class=\"cell\" x=\"{}\" y=\"{}\" width=\"{}\" "
        "height=\"{}\"/>",
        escaped(value.name), board::name(value.state), value.differing, value.elements, x, y, kBox - 2, kHigh);
    if (lost)
      svg += fmt::format("<rect class=\"lost\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", x, y, kBox - 2, kHigh);
    if (value.differing > 0) {
      const double height = std::max(3.0, kHigh * share_of(value));
      svg += fmt::format("<rect class=\"bad\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/>", x,
                         y + kHigh - height, kBox - 2, height);
    }
    if (comparison.differing && static_cast<int>(*comparison.differing) == i)
      svg += fmt::format("<rect class=\"mark\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>", x - 1, y - 1, kBox,
                         kHigh + 2);
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

/// Squares whose size shows the share that differs at their pixel, so that the map is readable without colours.
std::string map_of(const board::HeatMap& heat) {
  constexpr int64_t kMost = 64;
  if (heat.share.empty() || heat.rows > kMost || heat.columns > kMost) return "";
  constexpr int kBox = 16;
  std::string svg = fmt::format(
      "<svg role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\"><title>Where elements differ: height by width</title>\n",
      heat.columns * kBox + 2, heat.rows * kBox + 2, heat.columns * kBox + 2);
  for (int64_t i = 0; i < heat.rows * heat.columns; ++i) {
    const double share = heat.share[static_cast<size_t>(i)], side = (kBox - 2) * std::sqrt(share);
    const int64_t x = i % heat.columns * kBox + 1, y = i / heat.columns * kBox + 1;
    svg += fmt::format(
        "<g><title>row {}, column {}: {:.1f} % differ</title><rect class=\"cell\" x=\"{}\" y=\"{}\" "
        "width=\"{}\" height=\"{}\"/>",
        i / heat.columns, i % heat.columns, 100 * share, x, y, kBox, kBox);
    if (share > 0)
      svg += fmt::format("<rect class=\"bad\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"/>",
                         static_cast<double>(x) + (kBox - side) / 2, static_cast<double>(y) + (kBox - side) / 2, side,
                         side);
    svg += "</g>\n";
  }
  return svg + "</svg>\n";
}

/// A bar for each channel.
std::string channels_of(const board::HeatMap& heat) {
  if (heat.channels.size() < 2) return "";
  constexpr int kBox = 6, kHigh = 60;
  const auto count = static_cast<int>(heat.channels.size());
  std::string svg =
      fmt::format("<svg role=\"img\" viewBox=\"0 0 {} {}\" width=\"{}\"><title>Share that differs by channel</title>\n",
                  count * kBox + 2, kHigh + 18, count * kBox + 2);
  for (int c = 0; c < count; ++c) {
    const double share = heat.channels[static_cast<size_t>(c)];
    svg += fmt::format(
        "<g><title>channel {}: {:.1f} % differ</title><rect class=\"cell\" x=\"{}\" y=\"1\" width=\"{}\" "
        "height=\"{}\"/><rect class=\"bad\" x=\"{}\" y=\"{:.1f}\" width=\"{}\" height=\"{:.1f}\"/></g>\n",
        c, 100 * share, c * kBox + 1, kBox, kHigh, c * kBox + 1, 1 + kHigh * (1 - share), kBox, kHigh * share);
    if (c % 32 == 0) svg += fmt::format("<text x=\"{}\" y=\"{}\">{}</text>\n", c * kBox + 1, kHigh + 14, c);
  }
  return svg + "</svg>\n";
}

std::string table_of(const Comparison& comparison) {
  std::vector<std::vector<std::string>> rows;
  for (const ValueComparison& value : comparison.values)
    rows.push_back({fmt::format("<code>{}</code>", escaped(value.name)), escaped(value.op),
                    std::string(board::name(value.state)), grouped(value.elements), grouped(value.differing),
                    fmt::format("{:.6g}", value.largest)});
  return html_table({"value", "operator", "state", "elements", "differing", "largest"}, rows, 3);
}

}  // namespace

std::string as_html(const Comparison& comparison) {
  std::string page =
      fmt::format("<h1>{}</h1>\n<p><code>{}</code> and <code>{}</code>: {}.</p>\n", escaped(comparison.network),
                  escaped(comparison.first), escaped(comparison.second), escaped(sentence(comparison)));
  for (const std::string& note : comparison.notes) page += fmt::format("<p>{}</p>\n", escaped(note));
  page += "<h2>Values</h2>\n" + strip(comparison);
  if (comparison.differing) {
    const ValueComparison& value = comparison.values[*comparison.differing];
    page += fmt::format("<h2>First difference: <code>{}</code></h2>\n", escaped(value.name));
    const std::string text = as_text(comparison);
    const size_t begin = text.find("first difference"), end = text.rfind("\n\n");
    page += fmt::format("<pre class=\"guess\">{}</pre>\n", escaped(text.substr(begin, end - begin)));
    page += map_of(comparison.heat) + channels_of(comparison.heat);
  }
  page += "<h2>All values</h2>\n" + table_of(comparison);
  return html_page(comparison.first + " and " + comparison.second, kBoardStyle, page);
}

}  // namespace halfstep::report
