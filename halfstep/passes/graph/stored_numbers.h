// Numbers that a network stores, or computes of nothing but stored ones.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::passes {

struct StoredNumbers {
  Dims dims;
  std::vector<double> numbers;
};

/// Those of an f32 value, in double: contents of a tensor that nothing changes, or what reshapes, functions of one
/// operand, sums, differences, products, quotients and powers make of such tensors. Nothing for any other value, and
/// where an operation repeats numbers of which there are several.
std::optional<StoredNumbers> stored_numbers(const Model& model, Value value);

/// A value that nothing reads any more goes: a tensor, or an operation with what it alone read.
void erase_unread(Model& model, Value value);

}  // namespace halfstep::passes
