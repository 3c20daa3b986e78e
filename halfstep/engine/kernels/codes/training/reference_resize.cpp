// Reference kernel of a resampling of codes in training: each element is one sum over all its sources
// (docs/arithmetic.md, A5.30).
#include <memory>

#include "halfstep/engine/kernels/codes/training/operand.h"
#include "halfstep/engine/kernels/codes/training/results.h"
#include "halfstep/engine/kernels/common/axis.h"
#include "halfstep/engine/kernels/common/resampling.h"
#include "halfstep/engine/kernels/ops.h"

namespace halfstep::kernels {
namespace {

/// Offsets of the sources of the elements along one axis, and their weights.
struct Sources {
  int64_t inner = 1;  ///< elements of the result behind the axis
  int64_t out = 1, width = 1;
  std::vector<int64_t> offsets;
  std::vector<int32_t> weights;
};

struct ResizeState : RuleState<QuantizedResize> {
  explicit ResizeState(const Problem& problem) : RuleState(problem.attributes) {
    const Dims& x = problem.in[QuantizedResize::in::x]->dims;
    const Dims& out = problem.out[0]->dims;
    const auto axes = arith::resampled_axes(resampling_of(attributes), x, out);
    const int bits = arith::weight_bits(axes.size());
    total = int64_t{1} << (bits * static_cast<int>(axes.size()));
    sources.resize(x.size());
    for (size_t axis = 0; axis < x.size(); ++axis) {
      Sources& one = sources[axis];
      one = {Axis(out, static_cast<int64_t>(axis)).inner, out[axis], 1, {}, {}};
      for (int64_t i = 0; i < out[axis]; ++i) one.offsets.push_back(i);
      one.weights.assign(one.offsets.size(), 1);
    }
    for (const arith::ResampledAxis& axis : axes) {
      Sources& one = sources[axis.axis];
      one.width = axis.width;
      one.offsets = axis.places;
      one.weights = arith::integer_weights(axis, bits);
    }
    for (size_t axis = 0; axis < x.size(); ++axis) {
      for (int64_t& offset : sources[axis].offsets) offset *= Axis(x, static_cast<int64_t>(axis)).inner;
    }
  }

  /// Calls visit(offset, weight) for the sources of element `i` along the axes from `axis` on.
  template <class Visit>
  void visit(int64_t i, size_t axis, int64_t offset, int64_t weight, Visit& to) const {
    if (axis == sources.size()) return to(offset, weight);
    const Sources& one = sources[axis];
    const auto first = static_cast<size_t>(i / one.inner % one.out * one.width);
    for (size_t k = first; k < first + static_cast<size_t>(one.width); ++k)
      visit(i, axis + 1, offset + one.offsets[k], weight * one.weights[k], to);
  }

  std::vector<Sources> sources;
  int64_t total = 1;  ///< sum of the weights of an element
};

Plan prepare(const Problem& problem) {
  return {.state = std::make_shared<ResizeState>(problem), .phases = {pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run(const Call& call, int, int64_t piece) {
  using In = QuantizedResize::in;
  const auto& state = state_of<ResizeState>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const Target<QuantizedResize> y(call, state.rule);
  arith::Requantizer requantizer;
  if (Status status = state.rule.for_pool(x.scale, y.scale, state.total, requantizer); !status.ok()) return status;
  visit_codes(x.view, [&](const auto* codes) {
    const auto element = [&](int64_t i) {
      int64_t acc = 0;
      auto add = [&](int64_t offset, int64_t weight) { acc += x.steps(codes[offset]) * weight; };
      state.visit(i, 0, 0, 1, add);
      const float real = static_cast<float>(acc) * x.scale / static_cast<float>(state.total);
      return Requantized{arith::requantize(requantizer, acc, y.zero_point), real};
    };
    store_piece(call, piece, element, [&](int64_t code) { return y.clamp(code); });
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_resize{"reference", accept_resampling<QuantizedResize>, prepare, run};

}  // namespace halfstep::kernels
