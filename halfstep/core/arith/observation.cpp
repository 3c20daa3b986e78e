#include "halfstep/core/arith/observation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <vector>

#include "halfstep/core/arith/code.h"

namespace halfstep::arith {
namespace {

constexpr int kMiddle = kHistogramBins / 2;

AffineParameters with_scale(double scale, float low, const CodeGrid& grid) {
  const float stored = stored_scale(scale, grid);
  if (grid.zero_points != ZeroPoints::affine) return {stored, 0};
  const double zero_point = std::nearbyint(grid.code_min - static_cast<double>(low) / static_cast<double>(stored));
  return {stored, static_cast<int32_t>(std::clamp<double>(zero_point, grid.code_min, grid.code_max))};
}

/// Element counts by bin, and the position of bins.
class Histogram {
 public:
  Histogram(float low, float high, std::span<const double> counts)
      : low_(low),
        high_(high),
        counts_(counts),
        width_(std::ldexp(2.0 / kHistogramBins, histogram_exponent(low, high))) {}

  double edge(int bin) const { return (bin - kMiddle) * width_; }
  double count(int bin) const { return counts_[static_cast<size_t>(bin)]; }
  double total() const { return std::accumulate(counts_.begin(), counts_.end(), 0.0); }

  /// Returns the part of the observed range that `bins` bins on either side of 0 cover.
  std::pair<float, float> within(int bins) const {
    return {static_cast<float>(std::max<double>(low_, edge(kMiddle - bins))),
            static_cast<float>(std::min<double>(high_, edge(kMiddle + bins)))};
  }

  /// Returns the lower or upper end that excludes `share` of all elements. Interpolates linearly within a bin.
  float end_beyond(double share, bool upper) const {
    const double out = share * total();
    double passed = 0.0;
    for (int i = 0; i < kHistogramBins; ++i) {
      const int bin = upper ? kHistogramBins - 1 - i : i;
      if (passed + count(bin) > out) {
        const double part = (out - passed) / count(bin) * width_;
        const double end = upper ? edge(bin + 1) - part : edge(bin) + part;
        return static_cast<float>(std::clamp<double>(end, low_, high_));
      }
      passed += count(bin);
    }
    return static_cast<float>(upper ? high_ : low_);
  }

  /// Number of bins on either side of 0 up to the outermost non-empty bin.
  int reach() const {
    for (int bins = kMiddle; bins > 0; --bins) {
      if (count(kMiddle + bins - 1) > 0 || count(kMiddle - bins) > 0) return bins;
    }
    return 0;
  }

 private:
  double low_, high_;
  std::span<const double> counts_;
  double width_;
};

/// Returns the code of the middle of each bin, for `bins` bins on either side of 0.
std::vector<int32_t> codes_of(const Histogram& histogram, int bins, const AffineParameters& parameters,
                              const CodeGrid& grid) {
  std::vector<int32_t> codes;
  for (int bin = kMiddle - bins; bin < kMiddle + bins; ++bin) {
    const double middle = (histogram.edge(bin) + histogram.edge(bin + 1)) / 2.0;
    codes.push_back(code_of(static_cast<float>(middle), parameters.scale, parameters.zero_point,
                            CodeRule{grid.code_min, grid.code_max}));
  }
  return codes;
}

/// Kullback-Leibler divergence in nats between the observed distribution, clipped to `bins` bins on either side of 0,
/// and its quantized form. The quantized form spreads the elements of a code evenly over the code's non-empty bins.
double divergence(const Histogram& histogram, int bins, const AffineParameters& parameters, const CodeGrid& grid) {
  const std::vector<int32_t> codes = codes_of(histogram, bins, parameters, grid);
  const int first = kMiddle - bins, last = kMiddle + bins - 1;
  std::vector<double> clipped;
  for (int bin = first; bin <= last; ++bin) clipped.push_back(histogram.count(bin));
  for (int bin = 0; bin < first; ++bin) clipped.front() += histogram.count(bin);
  for (int bin = last + 1; bin < kHistogramBins; ++bin) clipped.back() += histogram.count(bin);
  const size_t levels = static_cast<size_t>(grid.code_max - grid.code_min) + 1;
  std::vector<double> mass(levels), filled(levels);
  double all = 0.0, inside = 0.0;
  for (size_t i = 0; i < clipped.size(); ++i) {
    const auto code = static_cast<size_t>(codes[i] - grid.code_min);
    const double count = histogram.count(first + static_cast<int>(i));
    mass[code] += count;
    filled[code] += clipped[i] > 0 ? 1.0 : 0.0;
    all += clipped[i];
    inside += count;
  }
  constexpr double kLeast = 1e-9;  // probability of a bin that only clipped elements fill
  double sum = 0.0;
  for (size_t i = 0; i < clipped.size(); ++i) {
    if (clipped[i] == 0) continue;
    const auto code = static_cast<size_t>(codes[i] - grid.code_min);
    const double p = clipped[i] / all, q = std::max(kLeast, mass[code] / filled[code] / inside);
    sum += p * std::log(p / q);
  }
  return sum;
}

/// Squared quantization error, summed over all observed elements.
double squared_error(const Histogram& histogram, int, const AffineParameters& parameters, const CodeGrid& grid) {
  const std::vector<int32_t> codes = codes_of(histogram, kMiddle, parameters, grid);
  double sum = 0.0;
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const double middle = (histogram.edge(bin) + histogram.edge(bin + 1)) / 2.0;
    const double real =
        static_cast<double>(real_of(codes[static_cast<size_t>(bin)], parameters.scale, parameters.zero_point));
    sum += histogram.count(bin) * (middle - real) * (middle - real);
  }
  return sum;
}

/// Tries clipped ranges and returns the parameters with the lowest score. The first range covers all non-empty bins.
/// Each next one is kStep bins narrower on either side, down to one bin per code. Of equal scores, the widest range
/// wins.
template <class Score>
AffineParameters least(const Histogram& histogram, const CodeGrid& grid, Score&& score) {
  constexpr int kStep = 8;
  const int reach = histogram.reach();
  const int64_t narrowest = std::max<int64_t>(kStep, (int64_t{grid.code_max} - grid.code_min + 1) / 2);
  const auto parameters_within = [&](int bins) {
    const auto [low, high] = histogram.within(bins);
    return parameters_of(low, high, grid);
  };
  AffineParameters best = parameters_within(reach);
  double least = narrowest > reach ? 0.0 : score(histogram, reach, best, grid);
  for (int bins = reach - kStep; bins >= narrowest; bins -= kStep) {
    const AffineParameters parameters = parameters_within(bins);
    const double one = score(histogram, bins, parameters, grid);
    if (one < least) {
      least = one;
      best = parameters;
    }
  }
  return best;
}

}  // namespace

int histogram_exponent(float low, float high) {
  const double most = std::max(std::abs(static_cast<double>(low)), std::abs(static_cast<double>(high)));
  return most > 0 ? std::ilogb(most) + 1 : -126;
}

void widen_histogram(std::span<double> counts, int from, int to) {
  const int shift = std::min(to - from, 30);
  if (shift <= 0) return;
  std::array<double, kHistogramBins> wide{};
  for (int bin = 0; bin < kHistogramBins; ++bin) {
    const int wider = ((bin - kMiddle) >> shift) + kMiddle;
    wide[static_cast<size_t>(wider)] += counts[static_cast<size_t>(bin)];
  }
  std::ranges::copy(wide, counts.begin());
}

AffineParameters observed_parameters(float low, float high, std::span<const double> seen, const ObserverRule& rule) {
  const CodeGrid& grid = rule.grid;
  if (std::ranges::all_of(seen, [](double number) { return number == 0.0; })) return parameters_of(low, high, grid);
  const Histogram histogram(low, high, seen);
  switch (rule.method) {
    case Observing::lsq: return with_scale(2.0 * seen[0] / std::sqrt(static_cast<double>(grid.code_max)), low, grid);
    case Observing::lsq_plus: {
      const double most = std::max(std::abs(seen[0] - 3 * seen[1]), std::abs(seen[0] + 3 * seen[1]));
      return with_scale(most / (static_cast<double>(grid.code_max) - grid.code_min + 1), std::max(low, 0.0F), grid);
    }
    case Observing::power_floor:
    case Observing::power_mode: {
      const auto slot = std::ranges::max_element(seen) - seen.begin();
      return {static_cast<float>(std::ldexp(1.0, -static_cast<int>(slot + kLowestExponent))), 0};
    }
    case Observing::percentile:
      return parameters_of(histogram.end_beyond(1.0 - rule.share, false), histogram.end_beyond(1.0 - rule.share, true),
                           grid);
    case Observing::kl: return least(histogram, grid, divergence);
    case Observing::histogram: return least(histogram, grid, squared_error);
    default: return parameters_of(low, high, grid);
  }
}

}  // namespace halfstep::arith
