// Pointwise functions through tables of codes, as docs/arithmetic.md, section 5, states them.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/arith/function.h"
#include "halfstep/kernels/codes/training/results.h"
#include "halfstep/kernels/common/codes.h"
#include "halfstep/kernels/ops.h"

namespace halfstep::kernels {
namespace {

template <class Typed>
struct State {
  explicit State(const Attributes& given)
      : all(given), attributes(given), function(arith::find_function(attributes.function)) {}
  Attributes all;
  Typed attributes;
  const arith::PointwiseFunction* function;
};

double dequantized(int64_t code, float scale, int32_t zero_point) {
  return static_cast<double>(code - zero_point) * static_cast<double>(scale);
}

/// Entries of a table lie in scratch: phase 0 makes them, the pieces of phase 1 look them up.
Plan prepare_lookup(const Problem& problem) {
  const QuantizedLookup attributes(problem.attributes);
  return {.state = std::make_shared<State<QuantizedLookup>>(problem.attributes),
          .scratch = static_cast<size_t>(attributes.x_code_max - attributes.x_code_min + 1) * sizeof(Requantized),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

Verdict accept_lookup(const Problem& problem) {
  const QuantizedLookup attributes(problem.attributes);
  if (arith::find_function(attributes.function) == nullptr)
    return refuse("there is no pointwise function '{}'", attributes.function);
  return accept();
}

Verdict accept_lookup_grad(const Problem& problem) {
  const LookupGrad attributes(problem.attributes);
  const arith::PointwiseFunction* function = arith::find_function(attributes.function);
  if (function == nullptr) return refuse("there is no pointwise function '{}'", attributes.function);
  if (function->slope == nullptr) return refuse("the pointwise function '{}' has no slope", attributes.function);
  return accept();
}

/// NaN becomes code_min, infinities the ends of int32.
Requantized entry_of(const State<QuantizedLookup>& state, double x, float y_scale, int32_t y_zero_point) {
  const double real = state.function->value(x, state.all);
  const double code = std::nearbyint(real / static_cast<double>(y_scale)) + y_zero_point;
  if (std::isnan(code)) return {state.attributes.code_min, static_cast<float>(real)};
  return {static_cast<int64_t>(std::clamp<double>(code, INT32_MIN, INT32_MAX)), static_cast<float>(real)};
}

Status run_lookup(const Call& call, int phase, int64_t piece) {
  using In = QuantizedLookup::in;
  const auto& state = state_of<State<QuantizedLookup>>(call);
  auto* table = reinterpret_cast<Requantized*>(call.scratch);
  const int64_t first = state.attributes.x_code_min, last = state.attributes.x_code_max;
  if (phase == 0) {
    const float scale = *call.in[In::x_scale].as<const float>();
    const int32_t zero_point = *call.in[In::x_zero_point].as<const int32_t>();
    const float y_scale = *call.in[In::y_scale].as<const float>();
    const int32_t y_zero_point = *call.in[In::y_zero_point].as<const int32_t>();
    for (int64_t q = first; q <= last; ++q)
      table[q - first] = entry_of(state, dequantized(q, scale, zero_point), y_scale, y_zero_point);
    return {};
  }
  visit_codes(call.in[In::x], [&](const auto* codes) {
    store_piece(
        call, piece, [&](int64_t i) { return table[std::clamp<int64_t>(codes[i], first, last) - first]; },
        [&](int64_t code) { return std::clamp(code, state.attributes.code_min, state.attributes.code_max); });
  });
  return {};
}

/// The codes that a type has; their slopes lie in scratch.
int64_t least_code(DType codes) { return is_signed(codes) ? -(int64_t{1} << (8 * size_of(codes) - 1)) : 0; }
int64_t code_count(DType codes) { return int64_t{1} << (8 * size_of(codes)); }

Plan prepare_lookup_grad(const Problem& problem) {
  return {.state = std::make_shared<State<LookupGrad>>(problem.attributes),
          .scratch = static_cast<size_t>(code_count(problem.in[LookupGrad::in::x]->dtype)) * sizeof(double),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_lookup_grad(const Call& call, int phase, int64_t piece) {
  using In = LookupGrad::in;
  const auto& state = state_of<State<LookupGrad>>(call);
  const ConstView& x = call.in[In::x];
  auto* slopes = reinterpret_cast<double*>(call.scratch);
  const int64_t least = least_code(x.dtype);
  if (phase == 0) {
    const float scale = *call.in[In::x_scale].as<const float>();
    const int32_t zero_point = *call.in[In::x_zero_point].as<const int32_t>();
    for (int64_t i = 0; i < code_count(x.dtype); ++i)
      slopes[i] = state.function->slope(dequantized(least + i, scale, zero_point), state.all);
    return {};
  }
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  auto* out = call.out[LookupGrad::out::out_].as<float>();
  const int64_t end = std::min(x.size(), (piece + 1) * kPieceElements);
  visit_codes(x, [&](const auto* codes) {
    for (int64_t i = piece * kPieceElements; i < end; ++i)
      out[i] = static_cast<float>(static_cast<double>(out_grad[i]) * slopes[codes[i] - least]);
  });
  return {};
}

}  // namespace

extern const Kernel reference_quantized_lookup{"reference", accept_lookup, prepare_lookup, run_lookup};
extern const Kernel reference_lookup_grad{"reference", accept_lookup_grad, prepare_lookup_grad, run_lookup_grad};

}  // namespace halfstep::kernels
