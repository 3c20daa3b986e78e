// Operations of a file that are shaped by open extents. Where ours have attributes, which must be known, a value that
// has the extent says it: indices are counted along an axis of it, and a reshape takes an extent from it.
#pragma once

#include "halfstep/formats/builder/builder.h"

namespace halfstep::formats {

/// Whether two are the same whatever open extents come to.
bool same(const Element& a, const Element& b);

/// Elements of which some depend on open extents, as values. Throws depends_on_extents where such an element is no
/// extent times a number and plus a number, nor a quotient as `counted` takes it.
Operand counted_elements(Builder& builder, const Node& node, const Elements& elements);

Element sum(const Element& a, const Element& b);
/// Where part `number` of an extent in `count` parts ends, counted from 1: all are as large but for the last one.
Element equal_parts(const Element& extent, int64_t count, size_t number);

/// An extent of an operand.
Element extent_of(const Builder& builder, const Operand& x, size_t axis);

/// start + i * step for the first `length` integers i. Throws depends_on_extents where `length` is no extent of a
/// value, nor a quotient of a multiple of one by a small divisor.
Operand counted(Builder& builder, const Node& node, const Element& length, int64_t start, int64_t step);

struct RangeOperands {
  Operand start, limit, step;
};

/// Numbers of this type from start on in steps, before limit, where one of these depends on open extents; nothing where
/// none does, or where one depends on more.
std::optional<Operand> open_range(Builder& builder, const Node& node, const RangeOperands& operands, DType dtype);

/// `x` under these extents, of which one may be -1 and none is 0. Throws depends_on_extents where it takes more than
/// one extent of another value to say them.
Operand reshaped_to(Builder& builder, const Node& node, const Operand& x, const std::vector<Element>& extents);

/// `x` repeated as broadcasting it with these extents does.
Operand expanded_to(Builder& builder, const Node& node, Operand x, const std::vector<Element>& extents);

/// The places of `x` from `start` on before `end` along an axis, in steps; a known one counts from the end where it is
/// below zero.
Operand part_of(Builder& builder, const Node& node, const Operand& x, size_t axis, const Element& start,
                const Element& end, int64_t step = 1);

/// `x` several times along an axis.
Operand repeated(Builder& builder, const Node& node, Operand x, size_t axis, const Element& times);

}  // namespace halfstep::formats
