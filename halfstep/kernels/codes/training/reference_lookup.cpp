// Pointwise functions through tables of codes, as docs/arithmetic.md, section 5, states them.
#include <algorithm>
#include <cmath>
#include <memory>

#include "halfstep/kernels/codes/training/lookup.h"
#include "halfstep/kernels/common/codes.h"

namespace halfstep::kernels {
namespace {

double dequantized(int64_t code, float scale, int32_t zero_point) {
  return static_cast<double>(code - zero_point) * static_cast<double>(scale);
}

/// Entries of a table lie in scratch: phase 0 makes them, the pieces of phase 1 look them up.
Plan prepare_lookup(const Problem& problem) {
  const QuantizedLookup attributes(problem.attributes);
  return {.state = std::make_shared<LookupRule>(problem.attributes),
          .scratch = static_cast<size_t>(attributes.x_code_max - attributes.x_code_min + 1) * sizeof(Requantized),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

struct GradientState {
  explicit GradientState(const Attributes& given)
      : all(given), function(arith::find_function(LookupGrad(given).function)) {}
  Attributes all;
  const arith::PointwiseFunction* function;
};

Verdict accept_lookup_grad(const Problem& problem) {
  const LookupGrad attributes(problem.attributes);
  const arith::PointwiseFunction* function = arith::find_function(attributes.function);
  if (function == nullptr) return refuse("there is no pointwise function '{}'", attributes.function);
  if (function->slope == nullptr) return refuse("the pointwise function '{}' has no slope", attributes.function);
  return accept();
}

Status run_lookup(const Call& call, int phase, int64_t piece) {
  const auto& rule = state_of<LookupRule>(call);
  auto* table = reinterpret_cast<Requantized*>(call.scratch);
  const int64_t first = rule.attributes.x_code_min, last = rule.attributes.x_code_max;
  if (phase == 0) {
    for (int64_t q = first; q <= last; ++q) table[q - first] = rule.entry(call, q);
    return {};
  }
  visit_codes(call.in[QuantizedLookup::in::x], [&](const auto* codes) {
    store_piece(
        call, piece, [&](int64_t i) { return table[std::clamp<int64_t>(codes[i], first, last) - first]; },
        [&](int64_t code) { return rule.clamp(code); });
  });
  return {};
}

/// The codes that a type has; their slopes lie in scratch.
int64_t least_code(DType codes) { return is_signed(codes) ? -(int64_t{1} << (8 * size_of(codes) - 1)) : 0; }
int64_t code_count(DType codes) { return int64_t{1} << (8 * size_of(codes)); }

Plan prepare_lookup_grad(const Problem& problem) {
  return {.state = std::make_shared<GradientState>(problem.attributes),
          .scratch = static_cast<size_t>(code_count(problem.in[LookupGrad::in::x]->dtype)) * sizeof(double),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

Status run_lookup_grad(const Call& call, int phase, int64_t piece) {
  using In = LookupGrad::in;
  const auto& state = state_of<GradientState>(call);
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

LookupRule::LookupRule(const Attributes& given)
    : all(given), attributes(given), function(arith::find_function(attributes.function)) {}

Requantized LookupRule::entry(const Call& call, int64_t code) const {
  using In = QuantizedLookup::in;
  const auto scale = [&](int port) { return *call.in[port].as<const float>(); };
  const auto zero_point = [&](int port) { return *call.in[port].as<const int32_t>(); };
  const int64_t near = std::clamp(code, attributes.x_code_min, attributes.x_code_max);
  const double real = function->value(dequantized(near, scale(In::x_scale), zero_point(In::x_zero_point)), all);
  const double steps = std::nearbyint(real / static_cast<double>(scale(In::y_scale))) + zero_point(In::y_zero_point);
  if (std::isnan(steps)) return {attributes.code_min, static_cast<float>(real)};
  return {static_cast<int64_t>(std::clamp<double>(steps, INT32_MIN, INT32_MAX)), static_cast<float>(real)};
}

Verdict accept_lookup(const Problem& problem) {
  const QuantizedLookup attributes(problem.attributes);
  if (arith::find_function(attributes.function) == nullptr)
    return refuse("there is no pointwise function '{}'", attributes.function);
  return accept();
}

extern const Kernel reference_quantized_lookup{"reference", accept_lookup, prepare_lookup, run_lookup};
extern const Kernel reference_lookup_grad{"reference", accept_lookup_grad, prepare_lookup_grad, run_lookup_grad};

}  // namespace halfstep::kernels
