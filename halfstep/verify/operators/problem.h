// One use of an operator as a line of text, and the values of its operands.
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

/// An operator with operand types by flat position and its attributes.
struct Problem {
  const OpInfo* info;
  OpCase use;
};

/// Attributes as in the text form of a graph; a string may stand without quotes. Throws Error that names an unknown
/// operator, port or attribute and suggests the nearest, a missing or unknown extent, or the rule that does not hold.
Problem parse_problem(std::string_view text);

/// What stands behind the operator's name in such a line, as it is: attributes are not completed, no rule is checked.
OpCase parse_use(const OpInfo& info, std::string_view text);

/// The line that parse_problem reads as this problem.
std::string to_text(const Problem& problem);

/// The name that messages give an operand: its port, of a variadic port "x[1]".
std::string operand_name(const Problem& problem, size_t operand);

/// Whether special values are strewn in among the others.
enum class Specials { none, strewn };

/// Operands by flat position, undefined where absent: the same for the same problem, record and seed. `record` says
/// how each port is filled; without a word on it, floats and i16 to i64 lie in -2..2, u16 in 0..4095 (so that products
/// of two codes fit an accumulator), narrower integers anywhere. Special values are every 13th element: a number that
/// has no factor in common with the lanes of a vector.
std::vector<Tensor> fill_operands(const Problem& problem, const OpTest& record, uint64_t seed, Specials specials);

}  // namespace halfstep::verify
