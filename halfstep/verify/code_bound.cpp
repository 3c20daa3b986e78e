#include "halfstep/verify/code_bound.h"

#include <algorithm>
#include <cmath>

#include "halfstep/base/status.h"
#include "halfstep/ir/ops.h"

namespace halfstep::verify {
namespace {

constexpr double kFloat = 0x1p-24;        ///< largest relative error of one operation in float32
constexpr double kDouble = 0x1p-40;       ///< more than that of any chain of operations in float64 that is checked
constexpr double kSumInDouble = 0x1p-22;  ///< 2^31, which no accumulator reaches, times the error of one addition

bool is_engine(const CodeFormat& y) { return y.requantize == "fbgemm" || y.requantize == "x86"; }
bool is_float32(const CodeFormat& y) { return y.requantize == "float32"; }
bool has_multipliers(const CodeFormat& y) { return !is_engine(y) && !is_float32(y); }

/// The error of a multiplier of so many bits; shifts alone are exact.
double multiplier_error(const CodeFormat& y) { return std::ldexp(1.0, -y.multiplier_bits); }

double zero_point_of(const CodeFormat& y) { return std::fabs(static_cast<double>(y.zero_point)); }
/// In magnitude.
double largest_code(const CodeFormat& x) { return static_cast<double>(std::max(x.code_max, -x.code_min)); }

/// Largest magnitude that codes stand for, in their own steps.
double reach(const CodeFormat& x) {
  return static_cast<double>(std::max(x.code_max - x.zero_point, x.zero_point - x.code_min));
}

CodeBound bound_of(double relative, double absolute) { return {.relative = relative, .absolute = {absolute}}; }

/// What a shift of `y` rounds otherwise than once to the nearest whole number. `factor`: what a step of the accumulator
/// is in steps of y.
double twice_rounded(const CodeFormat& y, double factor) {
  return has_multipliers(y) && y.shift_rounding == "doubled" ? factor : 0.0;
}
double middle_of(const CodeFormat& y) { return has_multipliers(y) && y.shift_rounding == "truncate" ? -0.5 : 0.0; }

/// The bound of an operator with one factor, or with the larger of two.
CodeBound shifted(const CodeFormat& y, double relative, double absolute, double factor) {
  return {middle_of(y), relative, {absolute + twice_rounded(y, factor)}};
}

CodeBound weighted(const CodeFormat& x, const CodeFormat& y, const WeightFacts& w) {
  CodeBound bound{middle_of(y), kDouble, {}, w.axis};
  if (y.requantize == "fixed_point") bound.relative += multiplier_error(y);
  if (is_float32(y)) bound.relative += 6 * kFloat;
  if (is_engine(y)) bound.relative += 12 * kFloat;
  const size_t channels = std::max(w.scales.size(), w.bias.size());
  for (size_t c = 0; c < channels; ++c) {
    const double factor = x.scale * w.scales[w.scales.size() == 1 ? 0 : c] / y.scale;
    const double bias = w.bias.empty() ? 0.0 : std::fabs(w.bias[c]) / y.scale;
    double absolute = static_cast<double>(w.taps + 2) * kSumInDouble * factor + kDouble;
    if (is_engine(y)) {
      absolute += 24 * kFloat * (bias + zero_point_of(y) + 1);
    } else if (bias != 0) {
      absolute += factor / 2 * (1 + bound.relative);
    }
    bound.absolute.push_back((absolute + twice_rounded(y, factor)) * w.slope);
  }
  return bound;
}

CodeBound sum(const std::vector<CodeFormat>& x, const CodeFormat& y) {
  const CodeFormat &a = x.at(0), &b = x.at(1);
  const double larger = std::max(a.scale, b.scale) / y.scale;
  if (has_multipliers(y))
    return shifted(y, kDouble, 1.001 * (reach(a) + reach(b)) * larger * multiplier_error(y) + kDouble, larger);
  const double highest = largest_code(a) * a.scale + largest_code(b) * b.scale;
  return bound_of(8 * kFloat, 8 * kFloat * (highest / y.scale + zero_point_of(y) + 1));
}

/// One factor in a multiplier, or a few operations in float32 with the zero point perhaps inside the rounding.
CodeBound scaled(const CodeFormat& y, double factor) {
  if (has_multipliers(y)) return shifted(y, multiplier_error(y) + kDouble, kDouble, factor);
  return bound_of(12 * kFloat, 4 * kFloat * (zero_point_of(y) + 1));
}

CodeBound mean(Op op, const CodeFormat& x, const CodeFormat& y) {
  if (has_multipliers(y)) return scaled(y, x.scale / y.scale);
  double window = 1;
  for (const int64_t extent : get<std::vector<int64_t>>(op.attributes(), "kernel"))
    window *= static_cast<double>(extent);
  const double largest = reach(x) * x.scale / y.scale;
  return bound_of(8 * kFloat, (window + 8) * kFloat * largest + 4 * kFloat * (zero_point_of(y) + 1));
}

}  // namespace

double CodeBound::at(double steps, size_t channel) const {
  return relative * std::fabs(steps) + absolute[absolute.size() == 1 ? 0 : channel];
}

void CodeBound::add(const CodeBound& other) {
  middle += other.middle;
  relative += other.relative;
  if (other.absolute.size() > absolute.size()) {
    absolute.resize(other.absolute.size(), absolute.front());
    axis = other.axis;
  }
  for (size_t c = 0; c < absolute.size(); ++c) absolute[c] += other.absolute[other.absolute.size() == 1 ? 0 : c];
}

CodeBound code_bound(Op op, const std::vector<CodeFormat>& x, const CodeFormat& y, const WeightFacts* weights) {
  if (weights != nullptr) return weighted(x.at(0), y, *weights);
  if (op.is<ops::IntegerAdd>()) return sum(x, y);
  if (op.is<ops::IntegerMul>()) return scaled(y, x.at(0).scale * x.at(1).scale / y.scale);
  if (op.is<ops::IntegerAvgPool2d>()) return mean(op, x.at(0), y);
  if (op.is<ops::IntegerRescale>()) return scaled(y, x.at(0).scale / y.scale);
  if (op.is<ops::IntegerLookup>()) return bound_of(has_multipliers(y) ? kDouble : 8 * kFloat, kDouble);
  if (op.is<ops::Quantize>()) return bound_of(4 * kFloat, kDouble);
  const Trait trait = op.info().quant.trait;
  if (trait == Trait::preserves_range || trait == Trait::same_scale)
    return bound_of(4 * kFloat, kDouble);  // a pad quantizes what it fills with
  fail("{}: nothing is known of how far the codes of {} may lie from its float operator", op.where(), op.info().name);
}

}  // namespace halfstep::verify
