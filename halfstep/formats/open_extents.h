// Operations of a file that are shaped by open extents. Where ours have attributes, which must be known, a value that
// has the extent says it: indices are counted along an axis of it, and a reshape takes an extent from it.
#pragma once

#include "halfstep/formats/builder.h"

namespace halfstep::formats {

/// Whether two are the same whatever open extents come to.
bool same(const Element& a, const Element& b);

/// Elements of which some depend on extents that only a run tells, and counts. Throws NeedsExtents where such an
/// element is no such extent times a number and plus a number.
Operand counted_elements(Builder& builder, const Node& node, const Elements& elements);

/// An extent of an operand.
Element extent_of(const Builder& builder, const Operand& x, size_t axis);

/// start + i * step for the first `length` whole numbers i. Throws NeedsExtents where no value has such an extent.
Operand counted(Builder& builder, const Node& node, const Element& length, int64_t start, int64_t step);

/// Numbers from `start` on in steps of `step`, before `limit`, which depends on open extents: scalars of one type.
Operand open_range(Builder& builder, const Node& node, const Operand& start, const Operand& limit, const Operand& step);

/// `x` under these extents, of which one may be -1 and none is 0. Throws NeedsExtents where it takes more than one
/// extent of another value to say them.
Operand reshaped_to(Builder& builder, const Node& node, const Operand& x, const std::vector<Element>& extents);

/// `x` repeated as broadcasting it with these extents does.
Operand expanded_to(Builder& builder, const Node& node, Operand x, const std::vector<Element>& extents);

/// The places of `x` from `start` on before `end` along an axis; either counts from the end where it is below zero.
Operand part_of(Builder& builder, const Node& node, const Operand& x, size_t axis, const Element& start,
                const Element& end);

}  // namespace halfstep::formats
