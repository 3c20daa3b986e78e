// Resize of ONNX, one axis after another. Weights are in double, and results are rounded once.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/number_types.h"
#include "halfstep/engine/kernels/common/resampling.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct ResizeState {
  std::vector<arith::ResampledAxis> tables;  ///< tables of the axes that change, in order
  bool extrapolates = false;
  double extrapolation = 0;
  size_t buffer = 0;  ///< doubles of the largest intermediate result
};

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
  state->tables = arith::resampled_axes(resampling_of(a), x, out);
  state->extrapolates = a.coordinates == "tf_crop_and_resize";
  state->extrapolation = a.extrapolation_value;
  Dims dims = x;
  for (const arith::ResampledAxis& table : state->tables) {
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
void resample(const arith::ResampledAxis& table, const Dims& dims, const double* src, double* dst) {
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
void spread(const arith::ResampledAxis& table, const Dims& dims, const double* src, double* dst) {
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
  for (const arith::ResampledAxis& table : state.tables) {
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
    for (const arith::ResampledAxis& table : state.tables) {
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
