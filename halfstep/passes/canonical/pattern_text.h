// Text form of graph patterns, `FROM => TO`, one after the other. A # starts a comment.
//
//   x * sigmoid(x) => silu(x)
//   x / sqrt(reduce_mean(x * x, axes=tail(axis), keep_dims=true) + epsilon) * @scale => rms_norm(x, @scale, ...)
//
// A name is a value, the same one at each occurrence. A name with @ is a stored tensor. Sums and products match every
// order and grouping of their parts, and every form of a part: x * x is also a power, / sqrt(v) a power of -0.5 or a
// reciprocal, and numbers are multiplied out. A name among the parts of a sum is any number but 0 if the right side
// takes it as an attribute. A call is an operator with its operands in order and its non-default attributes. An
// attribute is a number, true or false, or a condition on a list of axes: tail(axis) means the last axes from `axis`
// on, only(axis) means one axis. On the right side a name refers to its match, and an axis counts from the end.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/op_info.h"

namespace halfstep::passes {

/// Condition on an attribute, or its value on the right side.
struct PatternAttribute {
  enum class Kind { literal, name, tail, only };
  Kind kind = Kind::literal;
  Attribute value = false;  ///< used by `literal`
  std::string name;         ///< used by all other kinds
};

struct PatternPart;

struct PatternExpr {
  enum class Kind { value, tensor, sum, product, call };
  Kind kind = Kind::value;
  std::string name;                ///< name of a value or tensor, or of the number in a sum (otherwise "")
  double constant = 0;             ///< number in a sum or product
  std::vector<PatternPart> parts;  ///< parts of a sum or product, or operands of a call
  const OpInfo* op = nullptr;
  std::map<std::string, PatternAttribute> attributes = {};
};

struct PatternPart {
  PatternExpr expr;
  bool inverse = false;  ///< subtracted, or a divisor
  bool root = false;     ///< the part of a product is its square root
};

struct Pattern {
  PatternExpr from, to;
};

/// Throws Error: "FILE:LINE: ...".
std::vector<Pattern> parse_patterns(std::string_view text, const std::string& file);

/// Returns the patterns of the library, in their order.
const std::vector<Pattern>& all_patterns();

}  // namespace halfstep::passes
