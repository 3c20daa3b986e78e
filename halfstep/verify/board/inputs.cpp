// Hypotheses about samples with other preprocessing: scaled, shifted, or with another mean.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "halfstep/core/base/element_values.h"
#include "halfstep/verify/board/evidence.h"

namespace halfstep::board {
namespace {

/// found = gain * sample + base, for one channel.
struct Line {
  double gain = 1, base = 0;
};

/// The values before quantization, in the units of the samples. Without them, the numbers themselves.
struct Source {
  Numbers floats;
  double scale = 1, zero = 0;

  explicit Source(const Evidence& e) : floats(e.expected) {
    if (!e.rerun || !e.entry.codes || !e.entry.codes->scale) return;
    floats = numbers_of(e.rerun->operands.front());
    scale = static_cast<double>(*e.entry.codes->scale);
    zero = e.zero_point();
  }
};

/// A least-squares line through the found codes that are not saturated. Nothing if the data do not determine one.
std::optional<Line> line_of(const Evidence& e, const Source& source, int64_t channel) {
  double count = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (size_t i = 0; i < e.size(); ++i) {
    const bool own = static_cast<int64_t>(i) / (e.dims.h * e.dims.w) % e.dims.c == channel;
    if (!own || e.found[i] <= e.lowest() || e.found[i] >= e.highest()) continue;
    const double x = source.floats[i], y = (e.found[i] - source.zero) * source.scale;
    count += 1;
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = count * sxx - sx * sx;
  if (count < 3 || spread <= 1e-12 * count * sxx) return std::nullopt;
  const double gain = (count * sxy - sx * sy) / spread;
  return Line{gain, (sy - gain * sx) / count};
}

std::string text_of(const std::vector<Line>& lines) {
  std::string text;
  constexpr size_t kShown = 4;
  for (size_t c = 0; c < std::min(lines.size(), kShown); ++c)
    text += fmt::format("{}{:.4g} * x {} {:.4g}", c == 0 ? "" : "; ", lines[c].gain, lines[c].base < 0 ? "-" : "+",
                        std::abs(lines[c].base));
  return text + (lines.size() > kShown ? "; ..." : "");
}

double with_digits(double value, int digits) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - digits + 1);
  return std::nearbyint(value / unit) * unit;
}

/// Quantizes the modified samples with the layer itself.
void consider_samples(const Evidence& e, Verdicts& verdicts, const std::vector<Line>& lines) {
  Rerun moved = *e.rerun;
  Tensor x(moved.operands.front().dtype(), moved.operands.front().dims());
  for (int64_t i = 0; i < x.size(); ++i) {
    const Line& line = lines[static_cast<size_t>(i / (e.dims.h * e.dims.w) % e.dims.c)];
    set_element(x, i, element(moved.operands.front(), i) * line.gain + line.base);
  }
  moved.operands.front() = x;
  try {
    verdicts.predict("other preprocessing: samples are " + text_of(lines) + (lines.size() > 1 ? " by channel" : ""),
                     numbers_of(moved.run(*e.pool)));
  } catch (const Error&) {  // the layer does not support such a number
  }
}

void preprocessing(const Evidence& e, Verdicts& verdicts) {
  if (!e.is_input() || !e.has_found()) return;
  const Source source(e);
  if (source.floats.size() != e.size()) return;
  std::vector<Line> lines;
  for (int64_t c = 0; c < e.dims.c; ++c) {
    const auto line = line_of(e, source, c);
    if (!line) return;
    lines.push_back(*line);
  }
  Numbers result(e.size());
  for (size_t i = 0; i < e.size(); ++i) {
    const Line& line = lines[i / static_cast<size_t>(e.dims.h * e.dims.w) % lines.size()];
    const double real = source.floats[i] * line.gain + line.base;
    result[i] =
        e.entry.codes ? std::clamp(std::nearbyint(real / source.scale) + source.zero, e.lowest(), e.highest()) : real;
    const bool close = !e.entry.codes && std::abs(real - e.found[i]) <= 1e-4 * std::abs(e.found[i]) + 1e-5;
    if (close) result[i] = e.found[i];
  }
  const std::string words =
      "other preprocessing: samples are " + text_of(lines) + (lines.size() > 1 ? " by channel" : "");
  e.entry.codes ? verdicts.predict_nearly(words, result) : verdicts.predict(words + ", to 0.01 %", result);
  if (!e.rerun || !e.entry.codes || e.rerun->operands.front().size() != static_cast<int64_t>(e.size())) return;
  for (const int digits : {1, 2, 3, 4}) {  // constants in code usually have few digits
    std::vector<Line> round = lines;
    const double least = std::abs(source.scale) / 2;
    for (Line& line : round) {
      line.gain = with_digits(line.gain, digits);
      line.base = std::abs(line.base) < least ? 0 : with_digits(line.base, digits);
    }
    consider_samples(e, verdicts, round);
    if (verdicts.proved()) return;
  }
  consider_samples(e, verdicts, lines);
}

/// Every code of an input differs by a constant, because the mean is missing or wrong.
void mean(const Evidence& e, Verdicts& verdicts) {
  if (!e.is_input() || !e.has_found() || !e.entry.codes) return;
  std::vector<double> all(e.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = e.found[i] - e.expected[i];
  std::ranges::nth_element(all, all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2));
  const double by = all[all.size() / 2];
  if (by == 0 || by == -e.zero_point()) return;
  Numbers result = e.expected;
  for (double& v : result) v = std::clamp(v + by, e.lowest(), e.highest());
  verdicts.predict(fmt::format("other preprocessing: every code is {} too {}, as without a mean or with another",
                               std::abs(by), by > 0 ? "large" : "small"),
                   result);
}

}  // namespace

const std::vector<Hypothesis>& inputs() {
  static const std::vector<Hypothesis> kAll = {{"preprocessing", preprocessing}, {"preprocessing", mean}};
  return kAll;
}

}  // namespace halfstep::board
