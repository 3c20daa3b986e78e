// Operators on arrays.
#pragma once

#include <span>

#include "halfstep/core/ir/op_info.h"
#include "halfstep/engine/capture/array.h"
#include "halfstep/engine/capture/recorded.h"

namespace halfstep::capture {

/// Results by port, no array where the attributes switch it off; operands by flat position, where no array is an absent
/// one. Runs at once at the place of its operands, which must be one; is put on the tape where gradients are on and an
/// operand is differentiable, and into the trace that is under way. Throws Error as the record's rules do.
Arrays apply(const OpInfo& info, const Attributes& attributes, std::span<const Array> operands);

/// The same of what was recorded: inputs by argument, results by output.
Arrays apply_recorded(const std::shared_ptr<const Recorded>& what, std::span<const Array> inputs);

/// The same by name: apply("add", {a, b}). Results of one port alone.
Array apply(std::string_view name, std::initializer_list<Array> operands, const Attributes& attributes = {});

/// An array all of whose elements are `value`, at a place.
Array full(const Type& type, double value, Place place = switches().place);

/// A copy that gradients do not pass.
Array detach(const Array& array);

}  // namespace halfstep::capture
