// Numbers that a network stores or computes from stored numbers only.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

struct StoredNumbers {
  Dims dims;
  std::vector<double> numbers;
};

/// Returns the numbers of an f32 value in double. It may be a tensor that nothing updates, or the result of reshapes,
/// functions of one operand, sums, differences, products, quotients and powers of such tensors. Returns nothing for
/// other values, and for an operation that broadcasts more than one number.
std::optional<StoredNumbers> stored_numbers(const Model& model, Value value);

/// Removes a value without readers: a tensor, or an operation together with operands that only it reads.
void erase_unread(Model& model, Value value);

}  // namespace halfstep::passes
