// Reference kernels of pointwise functions through tables of codes, in training (docs/arithmetic.md, section 5).
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "halfstep/engine/kernels/codes/training/lookup.h"
#include "halfstep/engine/kernels/common/codes.h"

namespace halfstep::kernels {
namespace {

/// A table in scratch with an `Entry` for every code that x may have.
template <class Entry>
class CodeTable {
 public:
  static size_t bytes(const CodesFunction& function) {
    return static_cast<size_t>(function.largest - function.least + 1) * sizeof(Entry);
  }

  CodeTable(const CodesFunction& function, std::byte* scratch)
      : function_(function), entries_(reinterpret_cast<Entry*>(scratch)) {}

  template <class At>
  void fill(At&& at) const {
    for (int64_t code = function_.least; code <= function_.largest; ++code) entries_[code - function_.least] = at(code);
  }
  const Entry& operator[](int64_t code) const { return entries_[function_.near(code) - function_.least]; }

 private:
  const CodesFunction& function_;
  Entry* entries_;
};

/// Phase 0 fills the table. The pieces of phase 1 look up the codes of x.
template <class Entry>
Plan plan_of(const std::shared_ptr<const void>& state, const CodesFunction& function, const Problem& problem) {
  return {.state = state,
          .scratch = CodeTable<Entry>::bytes(function),
          .phases = {1, pieces_of(count_elements(problem.out[0]->dims))}};
}

/// Calls visit(i, code of x) for the elements of a piece.
template <class Visit>
void for_piece(const ConstView& x, int64_t piece, Visit&& visit) {
  const int64_t end = std::min(x.size(), (piece + 1) * kPieceElements);
  visit_codes(x, [&](const auto* codes) {
    for (int64_t i = piece * kPieceElements; i < end; ++i) visit(i, codes[i]);
  });
}

Plan prepare_lookup(const Problem& problem) {
  const auto rule = std::make_shared<LookupRule>(problem.attributes);
  return plan_of<int64_t>(rule, rule->function, problem);
}

Status run_lookup(const Call& call, int phase, int64_t piece) {
  const auto& rule = state_of<LookupRule>(call);
  const CodeTable<int64_t> table(rule.function, call.scratch);
  if (phase == 0) {
    table.fill([&](int64_t code) { return rule.code(call, code); });
    return {};
  }
  visit_codes(call.out[0], [&]<class Code>(Code* out) {
    for_piece(call.in[QuantizedLookup::in::x], piece,
              [&](int64_t i, int64_t code) { out[i] = static_cast<Code>(table[code]); });
  });
  return {};
}

Plan prepare_lookup_real(const Problem& problem) {
  const auto function = std::make_shared<CodesFunction>(LookupReal(problem.attributes), problem.attributes);
  return plan_of<float>(function, *function, problem);
}

Status run_lookup_real(const Call& call, int phase, int64_t piece) {
  using In = LookupReal::in;
  const auto& function = state_of<CodesFunction>(call);
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const CodeTable<float> table(function, call.scratch);
  if (phase == 0) {
    table.fill([&](int64_t code) { return static_cast<float>(function.value(x, code)); });
    return {};
  }
  auto* out = call.out[0].as<float>();
  for_piece(x.view, piece, [&](int64_t i, int64_t code) { out[i] = table[code]; });
  return {};
}

/// Phase 2 adds the terms of the scale's gradient.
Plan prepare_lookup_grad(const Problem& problem) {
  const auto rule = std::make_shared<LookupGradRule>(problem.attributes);
  Plan plan = plan_of<LookupSlopes>(rule, rule->function, problem);
  plan.phases.push_back(1);
  return plan;
}

/// A gradient scale of 0 marks a fixed scale. The gradient is then 0 for any sum.
float scale_grad(const Call& call, double gradient_scale, const CodeTable<LookupSlopes>& table) {
  if (gradient_scale == 0.0) return 0.0F;
  const ConstView& x = call.in[LookupGrad::in::x];
  const auto* out_grad = call.in[LookupGrad::in::out_grad].as<const float>();
  double sum = 0.0;
  for (int64_t piece = 0; piece < pieces_of(x.size()); ++piece) {
    for_piece(x, piece, [&](int64_t i, int64_t code) { sum += static_cast<double>(out_grad[i]) * table[code].scale; });
  }
  return static_cast<float>(gradient_scale * sum);
}

Status run_lookup_grad(const Call& call, int phase, int64_t piece) {
  using In = LookupGrad::in;
  using Out = LookupGrad::out;
  const auto& rule = state_of<LookupGradRule>(call);
  const CodeTable<LookupSlopes> table(rule.function, call.scratch);
  if (phase == 0) {
    table.fill([&](int64_t code) { return rule.slopes(call, code); });
    return {};
  }
  if (phase == 2) {
    *call.out[Out::scale_grad].as<float>() = scale_grad(call, rule.attributes.gradient_scale, table);
    return {};
  }
  const auto* out_grad = call.in[In::out_grad].as<const float>();
  auto* x_grad = call.out[Out::x_grad].as<float>();
  for_piece(call.in[In::x], piece, [&](int64_t i, int64_t code) {
    const float slope = table[code].x;
    x_grad[i] = slope == 0.0F ? 0.0F : out_grad[i] * slope;
  });
  return {};
}

Plan prepare_distinct(const Problem&) { return {}; }

Status run_distinct(const Call& call, int, int64_t) {
  const ConstView& x = call.in[DistinctCodes::in::x];
  visit_codes(x, [&]<class Code>(const Code* codes) {
    std::array<bool, 256> has{};
    constexpr int kLeast = std::numeric_limits<Code>::min();
    if constexpr (sizeof(Code) == 1) {
      for (int64_t i = 0; i < x.size(); ++i) has[static_cast<size_t>(codes[i] - kLeast)] = true;
    }
    auto* out = static_cast<Code*>(call.out[0].data);
    int64_t count = 0;
    for (int code = 0; code < 256; ++code) {
      if (has[static_cast<size_t>(code)]) out[count++] = static_cast<Code>(code + kLeast);
    }
    std::fill(out + count, out + 256, count == 0 ? Code{0} : out[count - 1]);
  });
  return {};
}

}  // namespace

Requantized CodesFunction::requantized(const Operand& x, int64_t code, float y_scale, int32_t y_zero_point,
                                       int64_t code_min) const {
  const double real = value(x, code);
  const double steps = std::nearbyint(real / static_cast<double>(y_scale)) + y_zero_point;
  if (std::isnan(steps)) return {code_min, static_cast<float>(real)};
  return {static_cast<int64_t>(std::clamp<double>(steps, INT32_MIN, INT32_MAX)), static_cast<float>(real)};
}

int64_t LookupRule::code(const Call& call, int64_t x_code) const {
  using In = QuantizedLookup::in;
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const float y_scale = *call.in[In::y_scale].as<const float>();
  const int32_t y_zero_point = *call.in[In::y_zero_point].as<const int32_t>();
  const Requantized result = function.requantized(x, x_code, y_scale, y_zero_point, attributes.code_min);
  return std::clamp(result.code, attributes.code_min, attributes.code_max);
}

LookupSlopes LookupGradRule::slopes(const Call& call, int64_t x_code) const {
  using In = LookupGrad::in;
  const Operand x(call, In::x, In::x_scale, In::x_zero_point);
  const float y_scale = *call.in[In::y_scale].as<const float>();
  const int32_t y_zero_point = *call.in[In::y_zero_point].as<const int32_t>();
  const BackwardRule backward(rule, y_scale, y_zero_point);
  const Requantized result = function.requantized(x, x_code, y_scale, y_zero_point, attributes.code_min);
  const double r = static_cast<double>(result.real) / static_cast<double>(y_scale);
  const double slope = backward.clamp.holds(result.code) ? function.slope(x, x_code) : 0.0;
  return {static_cast<float>(slope), backward.scale_slope(result.code, r)};
}

Verdict accept_lookup(const Problem& problem) {
  const std::string name = std::get<std::string>(problem.attributes.at("function"));
  if (arith::find_function(name) == nullptr) return refuse(errors::pointwise_function_unknown(name));
  return accept();
}

Verdict accept_lookup_grad(const Problem& problem) {
  if (Verdict verdict = accept_lookup(problem); !verdict) return verdict;
  const std::string name = LookupGrad(problem.attributes).function;
  if (arith::find_function(name)->slope == nullptr) return refuse(errors::pointwise_function_without_slope(name));
  return accept();
}

extern const Kernel reference_quantized_lookup{"reference", accept_lookup, prepare_lookup, run_lookup};
extern const Kernel reference_lookup_real{"reference", accept_lookup, prepare_lookup_real, run_lookup_real};
extern const Kernel reference_lookup_grad{"reference", accept_lookup_grad, prepare_lookup_grad, run_lookup_grad};
extern const Kernel reference_distinct_codes{"reference", accept_all, prepare_distinct, run_distinct};

}  // namespace halfstep::kernels
