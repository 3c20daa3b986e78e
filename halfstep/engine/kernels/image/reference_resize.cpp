// Resize of ONNX, one axis after another. Weights are in double, and results are rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Sources of the elements along one axis of the result: `width` elements of the operand each, with their weights.
struct AxisTable {
  size_t axis = 0;
  int64_t in = 0, out = 0, width = 1;
  std::vector<int64_t> places;
  std::vector<double> weights;
  std::vector<bool> outside;  ///< result elements that are extrapolated
};

struct ResizeState {
  std::vector<AxisTable> tables;  ///< tables of the axes that change, in order
  bool extrapolates = false;
  double extrapolation = 0;
  size_t buffer = 0;  ///< doubles of the largest intermediate result
};

/// The attributes of one axis.
struct Request {
  int64_t in, out;
  double scale;
  double length;  ///< length of the result before it was rounded to an integer
  double roi_begin = 0, roi_end = 1;
};

/// Position in the operand of element `i` of the result.
double original_place(const Resize& a, const Request& r, int64_t i) {
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
double weight_at(const Resize& a, double distance) {
  const double d = std::fabs(distance);
  if (a.mode == "linear") return std::max(0.0, 1 - d);
  const double c = a.cubic_coeff_a;
  if (d <= 1) return ((c + 2) * d - (c + 3)) * d * d + 1;
  return d < 2 ? ((c * d - 5 * c) * d + 8 * c) * d - 4 * c : 0;
}

AxisTable table_of(const Resize& a, const Request& r, size_t axis) {
  AxisTable table;
  table.axis = axis;
  table.in = r.in;
  table.out = r.out;
  const double reach = a.mode == "linear" ? 1 : 2, shrink = a.antialias ? std::min(1.0, r.scale) : 1;
  const auto first = static_cast<int64_t>(std::floor(-reach / shrink)) + 1;
  const bool nearest = a.mode == "nearest";
  if (!nearest) table.width = 2 * static_cast<int64_t>(reach) - 2 * (first + static_cast<int64_t>(reach) - 1);
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
double common_scale(const Resize& a, const Dims& x) {
  std::vector<double> scales;
  for (size_t i = 0; i < a.sizes.size(); ++i) {
    const int64_t axis = a.axes.empty() ? static_cast<int64_t>(i) : a.axes[i];
    const auto at = static_cast<size_t>(axis < 0 ? axis + static_cast<int64_t>(x.size()) : axis);
    scales.push_back(static_cast<double>(a.sizes[i]) / static_cast<double>(x[at]));
  }
  return a.policy == "not_larger" ? *std::min_element(scales.begin(), scales.end())
                                  : *std::max_element(scales.begin(), scales.end());
}

Verdict accept_resize(const Problem& problem) {
  const Resize a(problem.attributes);
  if (!std::ranges::all_of(a.roi, [](double place) { return std::isfinite(place); }))
    return refuse(errors::attribute_does_not_fit("roi", to_string(Attribute(a.roi)), "finite numbers"));
  return accept();
}

/// The plan of a resize from x to out, or of its gradient, which has the same attributes.
Plan plan_of(const Problem& problem, const Dims& x, const Dims& out) {
  const Resize a(problem.attributes);
  auto state = std::make_shared<ResizeState>();
  state->extrapolates = a.coordinates == "tf_crop_and_resize";
  state->extrapolation = a.extrapolation_value;
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
    if (r.in != r.out || r.scale != 1 || state->extrapolates) state->tables.push_back(table_of(a, r, at));
  }
  Dims dims = x;
  for (const AxisTable& table : state->tables) {
    state->buffer = std::max(state->buffer, static_cast<size_t>(count_elements(dims)));
    dims[table.axis] = table.out;
  }
  state->buffer = std::max(state->buffer, static_cast<size_t>(count_elements(dims)));
  const size_t scratch = 2 * state->buffer * sizeof(double);
  return {.state = std::move(state), .scratch = scratch};
}

Plan prepare_resize(const Problem& problem) { return plan_of(problem, problem.in[0]->dims, problem.out[0]->dims); }
Plan prepare_grad(const Problem& problem) { return plan_of(problem, problem.out[0]->dims, problem.in[0]->dims); }

/// Resamples one axis of a dense tensor of doubles.
void resample(const AxisTable& table, const Dims& dims, const double* src, double* dst) {
  const Axis axis(dims, static_cast<int64_t>(table.axis));
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t i = 0; i < table.out; ++i, dst += axis.inner) {
      std::fill_n(dst, axis.inner, 0.0);
      for (int64_t k = i * table.width; k < (i + 1) * table.width; ++k) {
        const double weight = table.weights[static_cast<size_t>(k)];
        const double* from = src + (o * axis.extent + table.places[static_cast<size_t>(k)]) * axis.inner;
        if (table.width == 1) {
          std::copy_n(from, axis.inner, dst);
        } else {
          for (int64_t e = 0; e < axis.inner; ++e) dst[e] += weight * from[e];
        }
      }
    }
  }
}

/// The transpose of resample: adds each element of src to those from which resample computes it. dst has extents
/// `dims`.
void spread(const AxisTable& table, const Dims& dims, const double* src, double* dst) {
  const Axis axis(dims, static_cast<int64_t>(table.axis));
  std::fill_n(dst, count_elements(dims), 0.0);
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t i = 0; i < table.out; ++i, src += axis.inner) {
      for (int64_t k = i * table.width; k < (i + 1) * table.width; ++k) {
        const double weight = table.weights[static_cast<size_t>(k)];
        double* to = dst + (o * axis.extent + table.places[static_cast<size_t>(k)]) * axis.inner;
        for (int64_t e = 0; e < axis.inner; ++e) to[e] += weight * src[e];
      }
    }
  }
}

/// Stores `number` in the results that are extrapolated.
void extrapolate(const ResizeState& state, const Dims& dims, double number, double* values) {
  for (const AxisTable& table : state.tables) {
    const Axis axis(dims, static_cast<int64_t>(table.axis));
    for (int64_t row = 0; row < axis.outer * axis.extent; ++row) {
      if (table.outside[static_cast<size_t>(row % axis.extent)])
        std::fill_n(values + row * axis.inner, axis.inner, number);
    }
  }
}

template <class T>
T element_of(double value) {
  if constexpr (kIsFloat<T>) {
    return from_double<T>(value);
  } else {
    return saturated<T>(value);
  }
}

Status run_resize(const Call& call, int, int64_t) {
  const auto& state = state_of<ResizeState>(call);
  auto* values = reinterpret_cast<double*>(call.scratch);
  double* next = values + state.buffer;
  with_number(call.out[0].dtype, [&]<class T>() {
    const T* src = call.in[0].as<const T>();
    for (int64_t i = 0; i < call.in[0].size(); ++i) values[i] = to_double(src[i]);
    Dims dims(call.in[0].dims.begin(), call.in[0].dims.end());
    for (const AxisTable& table : state.tables) {
      resample(table, dims, values, next);
      dims[table.axis] = table.out;
      std::swap(values, next);
    }
    if (state.extrapolates) extrapolate(state, dims, state.extrapolation, values);
    T* dst = call.out[0].as<T>();
    for (int64_t i = 0; i < call.out[0].size(); ++i) dst[i] = element_of<T>(values[i]);
  });
  return {};
}

Status run_grad(const Call& call, int, int64_t) {
  const auto& state = state_of<ResizeState>(call);
  auto* values = reinterpret_cast<double*>(call.scratch);
  double* next = values + state.buffer;
  with_any_float(call.out[0].dtype, [&]<class T>() {
    const T* out_grad = call.in[0].as<const T>();
    for (int64_t i = 0; i < call.in[0].size(); ++i) values[i] = to_double(out_grad[i]);
    Dims dims(call.in[0].dims.begin(), call.in[0].dims.end());
    if (state.extrapolates) extrapolate(state, dims, 0, values);
    for (auto table = state.tables.rbegin(); table != state.tables.rend(); ++table) {
      dims[table->axis] = table->in;
      spread(*table, dims, values, next);
      std::swap(values, next);
    }
    for (int64_t i = 0; i < call.out[0].size(); ++i) call.out[0].as<T>()[i] = from_double<T>(values[i]);
  });
  return {};
}

}  // namespace

extern const Kernel reference_resize{"reference", accept_resize, prepare_resize, run_resize};
extern const Kernel reference_resize_grad{"reference", accept_resize, prepare_grad, run_grad};

}  // namespace halfstep::kernels
