#include "halfstep/core/arith/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace halfstep::arith {
namespace {

/// The attributes of one axis.
struct Request {
  int64_t in, out;
  double scale;
  double length;  ///< length of the result before it was rounded to an integer
  double roi_begin = 0, roi_end = 1;
};

/// Position in the operand of element `i` of the result.
double original_place(const Resampling& a, const Request& r, int64_t i) {
  const auto at = static_cast<double>(i), in = static_cast<double>(r.in);
  const std::string& mode = a.coordinates;
  if (mode == "align_corners") return r.length == 1 ? 0 : at * (in - 1) / (r.length - 1);
  if (mode == "asymmetric") return at / r.scale;
  if (mode == "tf_half_pixel_for_nn") return (at + 0.5) / r.scale;
  if (mode == "tf_crop_and_resize") {
    if (r.out == 1) return 0.5 * (r.roi_begin + r.roi_end) * (in - 1);
    return r.roi_begin * (in - 1) + at * (r.roi_end - r.roi_begin) * (in - 1) / (static_cast<double>(r.out) - 1);
  }
  if (mode == "pytorch_half_pixel" && r.out == 1) return 0;
  const double half_pixel = (at + 0.5) / r.scale - 0.5;
  if (mode != "half_pixel_symmetric") return half_pixel;
  return in / 2 * (1 - static_cast<double>(r.out) / r.length) + half_pixel;
}

double nearest_place(const std::string& mode, double place) {
  if (mode == "floor") return std::floor(place);
  if (mode == "ceil") return std::ceil(place);
  return mode == "round_prefer_ceil" ? std::floor(place + 0.5) : std::ceil(place - 0.5);
}

/// The weight of an element at this distance.
double weight_at(const Resampling& a, double distance) {
  const double d = std::fabs(distance);
  if (a.mode == "linear") return std::max(0.0, 1 - d);
  const double c = a.cubic_coeff_a;
  if (d <= 1) return ((c + 2) * d - (c + 3)) * d * d + 1;
  return d < 2 ? ((c * d - 5 * c) * d + 8 * c) * d - 4 * c : 0;
}

ResampledAxis table_of(const Resampling& a, const Request& r, size_t axis) {
  ResampledAxis table;
  table.axis = axis;
  table.in = r.in;
  table.out = r.out;
  const double support = a.mode == "linear" ? 1 : 2, shrink = a.antialias ? std::min(1.0, r.scale) : 1;
  const auto first = static_cast<int64_t>(std::floor(-support / shrink)) + 1;
  const bool nearest = a.mode == "nearest";
  if (!nearest) table.width = 2 * static_cast<int64_t>(support) - 2 * (first + static_cast<int64_t>(support) - 1);
  for (int64_t i = 0; i < r.out; ++i) {
    const double place = original_place(a, r, i);
    table.outside.push_back(a.coordinates == "tf_crop_and_resize" &&
                            (place < 0 || place > static_cast<double>(r.in - 1)));
    if (nearest) {
      const double found = nearest_place(a.nearest_mode, place);
      table.places.push_back(static_cast<int64_t>(std::clamp(found, 0.0, static_cast<double>(r.in - 1))));
      table.weights.push_back(1);
      continue;
    }
    const double whole = std::floor(place);
    double sum = 0;
    for (int64_t k = 0; k < table.width; ++k) {
      const int64_t at = static_cast<int64_t>(whole) + first + k;
      double weight = weight_at(a, (static_cast<double>(at) - place) * shrink);
      if (a.exclude_outside && (at < 0 || at >= r.in)) weight = 0;
      sum += weight;
      table.places.push_back(std::clamp<int64_t>(at, 0, r.in - 1));
      table.weights.push_back(weight);
    }
    if (!a.antialias && !a.exclude_outside) continue;
    for (int64_t k = 0; k < table.width; ++k) table.weights[static_cast<size_t>(i * table.width + k)] /= sum;
  }
  return table;
}

/// The common scale of all axes, for sizes with a policy that keeps the aspect ratio.
double common_scale(const Resampling& a, const Dims& x) {
  std::vector<double> scales;
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    const int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    scales.push_back(static_cast<double>(a.sizes[i]) / static_cast<double>(x[at]));
  }
  return a.policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                  : *std::max_element(scales.begin(), scales.end());
}

}  // namespace

std::vector<ResampledAxis> resampled_axes(const Resampling& a, const Dims& x, const Dims& out) {
  std::vector<ResampledAxis> tables;
  const size_t count = a.axes.empty() ? x.size() : a.axes.size();
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    Request r{x[at], out[at], 1, static_cast<double>(out[at])};
    if (!a.scales.empty()) {
      r.scale = a.scales[i];
      r.length = r.scale * static_cast<double>(r.in);
    } else {
      r.scale = a.policy == "stretch" ? r.length / static_cast<double>(r.in) : common_scale(a, x);
    }
    if (a.roi.size() == 2 * count) {
      r.roi_begin = a.roi[i];
      r.roi_end = a.roi[count + i];
    }
    if (r.in != r.out || r.scale != 1 || a.coordinates == "tf_crop_and_resize") tables.push_back(table_of(a, r, at));
  }
  return tables;
}

int weight_bits(size_t axes) { return axes > 2 ? 10 : 11; }

std::vector<int32_t> integer_weights(const ResampledAxis& axis, int bits) {
  std::vector<int32_t> all(axis.weights.size());
  std::ranges::transform(axis.weights, all.begin(),
                         [&](double weight) { return static_cast<int32_t>(std::nearbyint(std::ldexp(weight, bits))); });
  for (auto first = all.begin(); first != all.end(); first += axis.width) {
    const auto last = first + axis.width;
    *std::max_element(first, last) += (int32_t{1} << bits) - std::accumulate(first, last, int32_t{0});
  }
  return all;
}

}  // namespace halfstep::arith
