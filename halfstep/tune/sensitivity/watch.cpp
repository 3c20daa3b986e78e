#include "halfstep/tune/sensitivity/watch.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/arith/observation.h"

namespace halfstep::sensitivity {
namespace {

constexpr int kBins = arith::kHistogramBins;
constexpr int kDrawn = 64;  ///< largest number of bins in a result

/// Cuts off empty bins at the ends, and merges bins to at most kDrawn.
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

/// Sets spread and outliers. Channels with only zeros are ignored.
void compare_channels(const std::vector<float>& reach, Watched& watched) {
  std::vector<float> some;
  std::ranges::copy_if(reach, std::back_inserter(some), [](float one) { return one > 0; });
  if (some.size() < 2) return;
  const auto median = static_cast<double>(median_of(some));
  watched.spread = static_cast<double>(std::ranges::max(some)) / median;
  for (size_t c = 0; c < reach.size(); ++c) {
    const double ratio = static_cast<double>(reach[c]) / median;
    if (ratio >= kOutlier) watched.outliers.push_back({static_cast<int64_t>(c), ratio});
  }
  std::ranges::stable_sort(watched.outliers, std::greater(), &Outlier::ratio);
}

/// Calls work(begin, size, first channel, second channel) for runs of elements in one channel of both.
template <class Work>
void for_runs(size_t size, const Channels& first, const Channels& second, const Work& work) {
  const size_t run = std::min(first.run(size), second.run(size));
  for (size_t begin = 0; begin < size; begin += run) work(begin, run, first.of(begin), second.of(begin));
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

void Watch::set_exponent(int exponent) {
  exponent_ = exponent;
  bins_of_one_ = std::ldexp(kBins / 2, -exponent);
}

void Watch::count(float x) {
  const auto bin_of = [&] {
    const double place = static_cast<double>(x) * bins_of_one_;
    const int towards_zero = static_cast<int>(std::clamp<double>(place, -kBins, kBins));
    return towards_zero - (place < towards_zero ? 1 : 0) + kBins / 2;
  };
  if (bins_.empty()) {
    bins_.resize(kBins);
    set_exponent(arith::histogram_exponent(x, x));
  }
  int bin = bin_of();
  if (bin < 0 || bin >= kBins) {
    const int wider = arith::histogram_exponent(x, x);
    arith::widen_histogram(bins_, exponent_, wider);
    set_exponent(wider);
    bin = bin_of();
  }
  ++bins_[static_cast<size_t>(std::clamp(bin, 0, kBins - 1))];
}

void Watch::add(const Tensor& x) {
  const Channels scales(x.dims(), rounder_.axis()), channels(x.dims(), axis_);
  magnitudes_.resize(channels.count);
  const auto values = x.data<float>();
  if (sums_.elements == 0 && !values.empty()) sums_.low = sums_.high = values[0];
  sums_.elements += x.size();
  for_runs(values.size(), scales, channels, [&](size_t begin, size_t run, size_t scale, size_t channel) {
    add_run(values.subspan(begin, run), scale, magnitudes_[channel]);
  });
}

void Watch::add_run(std::span<const float> values, size_t scale, float& reach) {
  Likeness alone = sums_.alone;  // in registers
  float farthest = reach;
  for (const float value : values) {
    if (!std::isfinite(value)) {
      ++not_finite_;
      continue;
    }
    const Rounder::Rounded rounded = rounder_(value, scale);
    alone.add(static_cast<double>(value), static_cast<double>(rounded.value));
    sums_.clipped += rounded.is_clipped ? 1 : 0;
    if (!used_.empty()) used_[static_cast<size_t>(rounded.code)] = 1;
    sums_.low = std::min(sums_.low, value);
    sums_.high = std::max(sums_.high, value);
    farthest = std::max(farthest, std::abs(value));
    count(value);
  }
  sums_.alone = alone;
  reach = farthest;
}

void Watch::try_others(const Tensor& x) {
  const auto values = x.data<float>();
  for (size_t o = 0; o < others_.size(); ++o) {
    const Rounder& other = others_[o];
    const Channels scales(x.dims(), other.axis());
    Likeness likeness = likenesses_[o];
    for_runs(values.size(), scales, scales, [&](size_t begin, size_t run, size_t scale, size_t) {
      for (const float value : values.subspan(begin, run))
        likeness.add(static_cast<double>(value), static_cast<double>(other(value, scale).value));
    });
    likenesses_[o] = likeness;
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
    result.unused = static_cast<double>(std::ranges::count(used_, 0)) / static_cast<double>(used_.size());
  if (!bins_.empty()) result.histogram = drawn(bins_, exponent_);
  result.wasted = wasted_bits();
  compare_channels(magnitudes_, result);
  return result;
}

std::optional<double> Watch::wasted_bits() const {
  const bool by_channel = rounder_.channels() > 1;
  if (used_.empty() || (by_channel && rounder_.axis() != axis_)) return std::nullopt;
  std::vector<double> bits;
  for (size_t c = 0; c < magnitudes_.size(); ++c) {
    if (!(magnitudes_[c] > 0)) continue;
    const Rounder::Ends ends = rounder_.ends(by_channel ? c : 0);
    bits.push_back(std::max(0.0, std::log2(static_cast<double>(std::max(-ends.low, ends.high) / magnitudes_[c]))));
  }
  return bits.empty() ? 0 : median_of(std::move(bits));
}

}  // namespace halfstep::sensitivity
