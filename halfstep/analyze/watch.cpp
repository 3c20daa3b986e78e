#include "halfstep/analyze/watch.h"

#include <algorithm>
#include <cmath>

#include "halfstep/arith/observation.h"

namespace halfstep::analyze {
namespace {

constexpr int kBins = arith::kHistogramBins;
constexpr int kDrawn = 64;  ///< bins of a result, at most

/// Bins around those that have something, as few as show them in at most kDrawn.
Histogram drawn(const std::vector<double>& bins, int exponent) {
  int first = 0, last = kBins - 1;
  while (first < last && bins[static_cast<size_t>(first)] == 0) ++first;
  while (last > first && bins[static_cast<size_t>(last)] == 0) --last;
  const int each = (last - first) / kDrawn + 1, count = (last - first) / each + 1;
  const double width = std::ldexp(2.0 / kBins, exponent);
  Histogram histogram{(first - kBins / 2) * width, (first + each * count - kBins / 2) * width,
                      std::vector<int64_t>(static_cast<size_t>(count))};
  for (int bin = first; bin <= last; ++bin)
    histogram.counts[static_cast<size_t>((bin - first) / each)] += static_cast<int64_t>(bins[static_cast<size_t>(bin)]);
  return histogram;
}

/// Fills in spread and outliers. Channels of zeros say nothing.
void compare_channels(const std::vector<float>& reach, Watched& watched) {
  std::vector<float> sorted;
  std::ranges::copy_if(reach, std::back_inserter(sorted), [](float one) { return one > 0; });
  if (sorted.size() < 2) return;
  std::ranges::sort(sorted);
  const double median = static_cast<double>(sorted[(sorted.size() - 1) / 2]);
  watched.spread = static_cast<double>(sorted.back()) / median;
  for (size_t c = 0; c < reach.size(); ++c) {
    const double ratio = static_cast<double>(reach[c]) / median;
    if (ratio >= kOutlier) watched.outliers.push_back({static_cast<int64_t>(c), ratio});
  }
  std::ranges::stable_sort(watched.outliers, std::greater(), &Outlier::ratio);
}

}  // namespace

int64_t channel_axis(const Dims& dims) {
  if (dims.size() == 3) return 2;
  return dims.size() == 2 || dims.size() == 4 ? 1 : -1;
}

Watch::Watch(Rounder rounder, int64_t axis, std::vector<Rounder> others)
    : rounder_(std::move(rounder)),
      axis_(axis),
      others_(std::move(others)),
      likenesses_(others_.size()),
      used_(rounder_.codes()) {}

void Watch::count(float x) {
  const auto bin_of = [&] {
    return static_cast<int>(std::floor(std::ldexp(static_cast<double>(x), -exponent_) * kBins / 2)) + kBins / 2;
  };
  if (bins_.empty()) {
    bins_.resize(kBins);
    exponent_ = arith::histogram_exponent(x, x);
  }
  int bin = bin_of();
  if (bin < 0 || bin >= kBins) {
    const int wider = arith::histogram_exponent(x, x);
    arith::widen_histogram(bins_, exponent_, wider);
    exponent_ = wider;
    bin = bin_of();
  }
  ++bins_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
}

void Watch::add(const Tensor& x) {
  const Channels scales(x.dims(), rounder_.axis()), channels(x.dims(), axis_);
  reach_.resize(channels.count);
  const auto values = x.data<float>();
  if (sums_.elements == 0 && !values.empty()) sums_.low = sums_.high = values[0];
  sums_.elements += x.size();
  for (size_t i = 0; i < values.size(); ++i) {
    const float value = values[i];
    if (!std::isfinite(value)) {
      ++not_finite_;
      continue;
    }
    const Rounder::Rounded rounded = rounder_(value, scales.of(i));
    sums_.alone.add(static_cast<double>(value), static_cast<double>(rounded.value));
    sums_.clipped += rounded.is_clipped ? 1 : 0;
    if (!used_.empty()) used_[static_cast<size_t>(rounded.code)] = true;
    sums_.low = std::min(sums_.low, value);
    sums_.high = std::max(sums_.high, value);
    float& reach = reach_[channels.of(i)];
    reach = std::max(reach, std::abs(value));
    count(value);
  }
}

void Watch::try_others(const Tensor& x) {
  const auto values = x.data<float>();
  for (size_t o = 0; o < others_.size(); ++o) {
    const Channels scales(x.dims(), others_[o].axis());
    for (size_t i = 0; i < values.size(); ++i)
      likenesses_[o].add(static_cast<double>(values[i]),
                         static_cast<double>(others_[o](values[i], scales.of(i)).value));
  }
}

void Watch::add_reached(const Tensor& wanted, const Tensor& found) {
  if (!sums_.reached) sums_.reached.emplace();
  sums_.reached->add(wanted.data<float>(), found.data<float>());
}

Watched Watch::result() const {
  Watched result = sums_;
  result.code_low = rounder_.low();
  result.code_high = rounder_.high();
  if (!used_.empty())
    result.unused = static_cast<double>(std::ranges::count(used_, false)) / static_cast<double>(used_.size());
  if (!bins_.empty()) result.histogram = drawn(bins_, exponent_);
  compare_channels(reach_, result);
  return result;
}

}  // namespace halfstep::analyze
