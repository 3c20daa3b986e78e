// Reference kernel of a resampling of codes in the integer program, one axis after another. Sums stay exact until the
// last axis (docs/arithmetic.md, A5.30).
#include <algorithm>
#include <memory>

#include "halfstep/engine/kernels/codes/integer/pieces.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/resampling.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

struct IntegerResizeState {
  explicit IntegerResizeState(const Attributes& all) : attributes(all) {}
  IntegerResize attributes;
  std::vector<arith::ResampledAxis> axes;  ///< axes of a piece
  std::vector<std::vector<int32_t>> weights;
  Dims x;                   ///< extents of a piece: the first axis that changes, and those behind it
  int64_t in = 1, out = 1;  ///< elements of a piece
  int64_t buffer = 1;       ///< elements of the largest intermediate result
};

Plan prepare(const Problem& problem) {
  auto state = std::make_shared<IntegerResizeState>(problem.attributes);
  const Dims& x = problem.in[IntegerResize::in::x]->dims;
  state->axes = arith::resampled_axes(resampling_of(state->attributes), x, problem.out[0]->dims);
  const size_t first = state->axes.empty() ? x.size() : state->axes.front().axis;
  state->x.assign(x.begin() + static_cast<ptrdiff_t>(first), x.end());
  state->in = state->buffer = count_elements(state->x);
  Dims dims = state->x;
  for (arith::ResampledAxis& axis : state->axes) {
    axis.axis -= first;
    state->weights.push_back(arith::integer_weights(axis, arith::weight_bits(state->axes.size())));
    dims[axis.axis] = axis.out;
    state->buffer = std::max(state->buffer, count_elements(dims));
  }
  state->out = count_elements(dims);
  const int64_t pieces = count_elements(std::span(x).first(first));
  const size_t scratch = 2 * static_cast<size_t>(state->buffer) * sizeof(int64_t);
  return {.state = std::move(state), .worker_scratch = scratch, .phases = {pieces}};
}

void resample(const arith::ResampledAxis& table, const std::vector<int32_t>& weights, const Dims& dims,
              const int64_t* src, int64_t* dst) {
  const Axis axis(dims, static_cast<int64_t>(table.axis));
  for (int64_t o = 0; o < axis.outer; ++o) {
    for (int64_t i = 0; i < table.out; ++i, dst += axis.inner) {
      std::fill_n(dst, axis.inner, int64_t{0});
      for (int64_t k = i * table.width; k < (i + 1) * table.width; ++k) {
        const int64_t weight = weights[static_cast<size_t>(k)];
        const int64_t* from = src + (o * axis.extent + table.places[static_cast<size_t>(k)]) * axis.inner;
        for (int64_t e = 0; e < axis.inner; ++e) dst[e] += weight * from[e];
      }
    }
  }
}

Status run(const Call& call, int, int64_t piece) {
  const auto& state = state_of<IntegerResizeState>(call);
  const IntegerResize& t = state.attributes;
  const arith::Requantizer requantizer = stored_scale(t.multiplier, t.shift, shift_rounding(t));
  auto* values = reinterpret_cast<int64_t*>(call.worker_scratch);
  int64_t* next = values + state.buffer;
  visit_codes(call.in[IntegerResize::in::x], [&](const auto* codes) {
    for (int64_t i = 0; i < state.in; ++i) values[i] = codes[piece * state.in + i] - t.x_zero_point;
  });
  Dims dims = state.x;
  for (size_t i = 0; i < state.axes.size(); ++i) {
    resample(state.axes[i], state.weights[i], dims, values, next);
    dims[state.axes[i].axis] = state.axes[i].out;
    std::swap(values, next);
  }
  visit_codes(call.out[0], [&]<class Code>(Code* dst) {
    for (int64_t i = 0; i < state.out; ++i)
      dst[piece * state.out + i] = static_cast<Code>(requantized(t, requantizer, values[i]));
  });
  return {};
}

}  // namespace

extern const Kernel reference_integer_resize{"reference", accept_resampling<IntegerResize>, prepare, run};

}  // namespace halfstep::kernels
