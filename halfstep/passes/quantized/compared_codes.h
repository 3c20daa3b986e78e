// Comparisons of codes with a number, which need no real values.
#pragma once

#include <cstdint>
#include <optional>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

/// The operands of a comparison: a value with codes and a stored number.
struct ComparedCodes {
  Value value;
  float number;
  bool is_second;  ///< whether the number is the first operand
};

/// Returns nothing for other operators, and for comparisons of other values. `model` is a prepared network.
std::optional<ComparedCodes> compared_codes(const Model& model, Op op);

/// A comparison of codes with a code.
struct CodeComparison {
  const OpInfo* info;
  int32_t code;
};

/// Returns the comparison of codes from `code_min` to `code_max` that has the results of `op` on their real values,
/// `(code - zero_point) * scale` in float32. Returns nothing if there is none.
std::optional<CodeComparison> on_codes(Op op, const ComparedCodes& compared, float scale, int32_t zero_point,
                                       int32_t code_min, int32_t code_max);

}  // namespace halfstep::passes
