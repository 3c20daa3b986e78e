// Forms of a graph as text, `what is written => the operation that it is`, one after the other; # starts a comment.
//
//   x * sigmoid(x) => silu(x)
//   x / sqrt(reduce_mean(x * x, axes=tail(axis), keep_dims=true) + epsilon) * @scale => rms_norm(x, @scale, ...)
//
// A name is a value, the same wherever it stands; with @ a stored tensor. Sums and products stand for every order and
// grouping of their parts, and for every way to write a part: x * x is also a power, / sqrt(v) a power of -0.5 or a
// reciprocal, and numbers are multiplied out. A name among the parts of a sum that the right side takes as an attribute
// is any number but 0. A call is an operator: its operands in order, and of its attributes those that are no defaults.
// An attribute is a number, true or false, or says what a list of axes must be: tail(axis), the last ones from `axis`
// on, or only(axis), one. On the right side a name stands for what was found, an axis counted from the end.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/op_info.h"

namespace halfstep::passes {

/// What an attribute must be, or on the right side is.
struct PatternAttribute {
  enum class Kind { literal, name, tail, only };
  Kind kind = Kind::literal;
  Attribute value = false;  ///< of a literal
  std::string name;         ///< of anything else
};

struct PatternPart;

struct PatternExpr {
  enum class Kind { value, tensor, sum, product, call };
  Kind kind = Kind::value;
  std::string name;                ///< of a value or tensor; of a sum: of the number that is part of it, or ""
  double constant = 0;             ///< that a sum has, or a product
  std::vector<PatternPart> parts;  ///< of a sum or product; operands of a call
  const OpInfo* op = nullptr;
  std::map<std::string, PatternAttribute> attributes = {};
};

struct PatternPart {
  PatternExpr expr;
  bool inverse = false;  ///< it is subtracted, or divided by
  bool root = false;     ///< of a product: its square root
};

struct Pattern {
  PatternExpr from, to;
};

/// Throws Error: "FILE:LINE: ...".
std::vector<Pattern> parse_patterns(std::string_view text, const std::string& file);

/// Those that are part of the library, in their order.
const std::vector<Pattern>& all_patterns();

}  // namespace halfstep::passes
