// Translates operations whose shape depends on dynamic extents. Halfstep's operators have attributes here, which must
// be constant. Instead, a value with that extent provides it: indices are counted along its axis, and a reshape takes
// an extent from it.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// Whether two elements are equal for all values of dynamic extents.
bool same(const Element& a, const Element& b);

/// Returns elements, some of which depend on dynamic extents, as values. Throws depends_on_extents for an element that
/// is neither a linear function of an extent nor a quotient supported by `counted`.
Operand counted_elements(Builder& builder, const Node& node, const Elements& elements);

Element sum(const Element& a, const Element& b);
/// Returns the end of part `number`, counted from 1, of an extent in `count` parts. All parts are equally large except
/// the last.
Element equal_parts(const Element& extent, int64_t count, size_t number);

/// Returns an extent of an operand.
Element extent_of(const Builder& builder, const Operand& x, size_t axis);

/// Returns start + i * step for the first `length` integers i. Throws depends_on_extents if `length` is neither an
/// extent of a value nor a quotient of a multiple of one by a small divisor.
Operand counted(Builder& builder, const Node& node, const Element& length, int64_t start, int64_t step);

struct RangeOperands {
  Operand start, limit, step;
};

/// Returns numbers of this type from start on in steps, before limit, where one of these depends on dynamic extents.
/// Returns nothing if none does, or if one depends on more.
std::optional<Operand> open_range(Builder& builder, const Node& node, const RangeOperands& operands, DType dtype);

/// Reshapes `x` to these extents, where one may be -1 and none is 0. Throws depends_on_extents if this needs more than
/// one extent of other values.
Operand reshaped_to(Builder& builder, const Node& node, const Operand& x, const std::vector<Element>& extents);

/// Repeats `x` as in broadcasting with these extents.
Operand expanded_to(Builder& builder, const Node& node, Operand x, const std::vector<Element>& extents);

/// Returns the positions of `x` along an axis from `start` on before `end`, in steps. A known negative position counts
/// from the end.
Operand part_of(Builder& builder, const Node& node, const Operand& x, size_t axis, const Element& start,
                const Element& end, int64_t step = 1);

/// Repeats `x` along an axis.
Operand repeated(Builder& builder, const Node& node, Operand x, size_t axis, const Element& times);

}  // namespace halfstep::formats
