// Text form of one application of an operator, and values for its operands. Examples:
//
//   conv2d x=f32[2,6,9,7] w=f32[4,3,3,3] groups=2 pad=[1,0,2,1]
//   concat x=[f32[2,3],f32[2,1]] axis=1
//   fused_conv2d x=f32[1,4,5,5] w=f32[4,4,1,1] activation=relu6
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/tensor.h"
#include "halfstep/core/ir/op_info.h"
#include "halfstep/verify/operators/op_case.h"

namespace halfstep::verify {

/// An operator with operand types by flat position, and its attributes.
struct Problem {
  const OpInfo* info;
  OpCase use;
};

/// Parses a line. Attributes are as in the text form of a graph, but a string needs no quotes. Throws Error for an
/// unknown operator, port or attribute (with the nearest name), a missing or unknown extent, or a rule that does not
/// hold.
Problem parse_problem(std::string_view text);

/// Parses the text after the operator's name. Does not complete attributes, and checks no rule.
OpCase parse_use(const OpInfo& info, std::string_view text);

/// The line that parse_problem reads as this problem.
std::string to_text(const Problem& problem);

/// The name of an operand in messages: its port, or "x[1]" for a variadic port.
std::string operand_name(const Problem& problem, size_t operand);

/// Whether operands contain special values.
enum class Specials { none, strewn };

/// Random operands by flat position, undefined if absent. They only depend on problem, record and seed. `record`
/// specifies the values of each port. The default is -2..2 for floats, -9..9 for i16 to i64, 0..4095 for u16 (so that
/// products of two codes fit an accumulator), and the whole range for narrower integers. Every 13th element is a
/// special value. 13 has no common factor with the number of lanes of a vector.
std::vector<Tensor> fill_operands(const Problem& problem, const OpTest& record, uint64_t seed, Specials specials);

}  // namespace halfstep::verify
