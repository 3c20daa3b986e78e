// Operators on arrays.
#pragma once

#include <span>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// Applies one operator. `operands` are in flat positions, and an empty Array is an absent operand. Returns the results
/// by port, empty where the attributes switch the result off. Runs at once on the device of its operands, which must be
/// the same. The result goes on the tape if gradients are on and an operand is differentiable, and into the current
/// trace. Throws Error if the operands violate the record's rules.
Arrays apply(const OpInfo& info, const Attributes& attributes, std::span<const Array> operands);

/// Applies a recorded network: inputs by argument, results by output.
Arrays apply_recorded(const std::shared_ptr<const Recorded>& what, std::span<const Array> inputs);

/// Applies an operator with one result by name, for example apply("add", {a, b}).
Array apply(std::string_view name, std::initializer_list<Array> operands, const Attributes& attributes = {});

/// An array of this type with all elements equal to `value`, on the device `place`.
Array full(const Type& type, double value, Place place = switches().place);

/// A copy that gradients do not pass.
Array detach(const Array& array);

}  // namespace halfstep::capture
