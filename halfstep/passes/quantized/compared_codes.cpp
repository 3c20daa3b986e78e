#include "halfstep/passes/quantized/compared_codes.h"

#include <algorithm>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

bool compares(Op op) {
  return op && op.is<ops::Equal, ops::Greater, ops::GreaterOrEqual, ops::Less, ops::LessOrEqual>();
}

/// Whether the value is the result of a quantizer, or moved from one by operators that have codes.
bool is_coded(const Model& model, Value value) {
  while (value.producer() && moves_codes(value.producer()) &&
         !model.metadata.float_operators.contains(value.producer().name()))
    value = value.producer().operands().front();
  return value.producer().is<ops::FakeQuantize>();
}

bool holds(Op op, float a, float b) {
  if (op.is<ops::Equal>()) return a == b;
  if (op.is<ops::Greater>()) return a > b;
  if (op.is<ops::GreaterOrEqual>()) return a >= b;
  return op.is<ops::Less>() ? a < b : a <= b;
}

}  // namespace

std::optional<ComparedCodes> compared_codes(const Model& model, Op op) {
  if (!compares(op)) return std::nullopt;
  for (const bool is_second : {false, true}) {
    const Value value = op.in(is_second ? 1 : 0), number = op.in(is_second ? 0 : 1);
    if (!is_stored_f32(number) || count_elements(number.dims()) != 1 || !is_coded(model, value)) continue;
    return ComparedCodes{value, contents_of(model, number).data<float>()[0], is_second};
  }
  return std::nullopt;
}

std::optional<CodeComparison> on_codes(Op op, const ComparedCodes& compared, float scale, int32_t zero_point,
                                       int32_t code_min, int32_t code_max) {
  const auto is_true = [&](int32_t code) {
    const float real = static_cast<float>(code - zero_point) * scale;
    return compared.is_second ? holds(op, compared.number, real) : holds(op, real, compared.number);
  };
  int32_t first = code_max + 1, last = code_min - 1, count = 0;
  for (int32_t code = code_min; code <= code_max; ++code) {
    if (!is_true(code)) continue;
    first = std::min(first, code);
    last = code;
    ++count;
  }
  if (count == 0) return CodeComparison{&ops::Greater::record(), code_max};
  if (count == last - first + 1 && last == code_max) return CodeComparison{&ops::GreaterOrEqual::record(), first};
  if (count == last - first + 1 && first == code_min) return CodeComparison{&ops::LessOrEqual::record(), last};
  return count == 1 ? std::optional(CodeComparison{&ops::Equal::record(), first}) : std::nullopt;
}

}  // namespace halfstep::passes
