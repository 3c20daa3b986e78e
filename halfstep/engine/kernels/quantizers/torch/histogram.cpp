#include "halfstep/engine/kernels/quantizers/torch/histogram.h"

#include <algorithm>
#include <limits>

namespace halfstep::kernels::torch {
namespace {

constexpr int64_t kParts = 16;
constexpr double kCodes = 256;
constexpr double kQuantileStep = 1e-5;

/// Point i of `count` evenly spaced points of a range, computed from the nearer end.
float point(const Extremes& range, int64_t count, int64_t i) {
  const float step = (range.high - range.low) / static_cast<float>(count - 1);
  return i < count / 2 ? std::fma(step, static_cast<float>(i), range.low)
                       : std::fma(-step, static_cast<float>(count - 1 - i), range.high);
}

/// The last of `bins` bins over the range that begins at x or before. The division finds it up to rounding, then
/// neighbours are checked.
int64_t bin_from(float x, const Extremes& range, int64_t bins) {
  const float share = (x - range.low) / (range.high - range.low) * static_cast<float>(bins);
  int64_t bin = std::clamp(static_cast<int64_t>(share), int64_t{0}, bins - 1);
  while (bin > 0 && point(range, bins + 1, bin) > x) --bin;
  while (bin + 1 < bins && point(range, bins + 1, bin + 1) <= x) ++bin;
  return bin;
}

/// The integral of density * t^2 from begin to end.
double moment(double density, double begin, double end) {
  return density * (end * end * end - begin * begin * begin) / 3;
}

/// A run of bins, both ends included.
struct Bins {
  int64_t first, last;
  bool operator==(const Bins&) const = default;
};

/// Squared error of the whole histogram when `current` is cut into kCodes equal steps.
double error_of(std::span<const float> counts, double width, const Bins& current) {
  const double step = width * static_cast<double>(current.last - current.first + 1) / kCodes;
  if (step == 0.0) return 0.0;
  const auto step_of = [&](double x) { return std::clamp(std::floor(x / step), 0.0, kCodes - 1); };
  double error = 0.0;
  for (int64_t i = 0; i < static_cast<int64_t>(counts.size()); ++i) {
    const double begin = static_cast<double>(i - current.first) * width;
    const double end = begin + width;
    const double first = step_of(begin);
    const double last = step_of(end);
    const double density = counts[i] / width;
    error += moment(density, begin - (first + 0.5) * step, step / 2) +
             (last - first - 1) * moment(density, -step / 2, step / 2) +
             moment(density, -step / 2, end - (last + 0.5) * step);
  }
  return error;
}

/// The part of `current` between two quantiles.
Bins cut(std::span<const float> cumulative, const Bins& current, float low, float high) {
  Bins at = current;
  while (at.first < current.last && cumulative[at.first] < low) ++at.first;
  while (at.last > current.first && cumulative[at.last] > high) --at.last;
  return at;
}

}  // namespace

int64_t bin_of(float x, const Extremes& range, int64_t bins) {
  Extremes wide = range;
  if (range.low == range.high) wide = {range.low - 1.0F, range.high + 1.0F};
  const float share = (x - wide.low) / (wide.high - wide.low) * static_cast<float>(bins);
  return std::clamp(static_cast<int64_t>(share), int64_t{0}, bins - 1);
}

void move_counts(std::span<const float> counts, const Extremes& from, const Extremes& to, std::span<float> moved) {
  const auto bins = static_cast<int64_t>(counts.size());
  if (from.low == from.high) {
    double sum = 0.0;
    for (const float count : counts) sum += count;
    moved[bin_of(from.low, to, bins)] += static_cast<float>(sum);
    return;
  }
  const float half = 0.5F * ((from.high - from.low) / static_cast<float>(bins * kParts));
  for (int64_t part = 0; part < bins * kParts; ++part)
    moved[bin_from(point(from, bins * kParts + 1, part) + half, to, bins)] += counts[part / kParts] / kParts;
}

Extremes best_range(std::span<const float> counts, const Extremes& range, std::span<float> cumulative) {
  double total = 0.0;
  for (size_t i = 0; i < counts.size(); ++i) cumulative[i] = static_cast<float>(total += counts[i]);
  const auto bins = static_cast<int64_t>(counts.size());
  const double width = (static_cast<double>(range.high) - range.low) / static_cast<double>(bins);
  Bins current{0, bins - 1};
  double smallest = std::numeric_limits<double>::infinity();
  double low = 0.0;
  double high = 1.0;
  while (low < high) {
    const double next_low = low + kQuantileStep;
    const double next_high = high - kQuantileStep;
    const Bins at =
        cut(cumulative, current, static_cast<float>(next_low * total), static_cast<float>(next_high * total));
    Bins next = current;
    if (at.first - current.first > current.last - at.last) {
      next.first = at.first;
      low = next_low;
    } else {
      next.last = at.last;
      high = next_high;
    }
    if (next == current) continue;
    const double error = error_of(counts, width, next);
    if (error > smallest) break;
    smallest = error;
    current = next;
  }
  const float bin = (range.high - range.low) / static_cast<float>(bins);
  return {range.low + bin * static_cast<float>(current.first), range.low + bin * static_cast<float>(current.last + 1)};
}

}  // namespace halfstep::kernels::torch
