// How sums become codes: the functions and constants of docs/arithmetic.md, sections 4 and 10, in C. They are written
// from that page and share nothing with `arith`. Internal to this room.
#pragma once

#include <string>

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// What a function of C calls to make a code of a sum.
struct Scale {
  std::string type;    ///< of the struct
  std::string code;    ///< the function
  std::string sum;     ///< the type of a sum: "int32_t" or "int64_t"
  std::string object;  ///< the address of the struct
  /// A field of the struct that points to a number for each channel.
  struct Table {
    std::string type, field;
  };
  std::vector<Table> tables = {};
  /// The words of a template.
  Words words() const { return {{"scale", type}, {"code", code}, {"sum", sum}}; }
};

/// One factor as a program stores it, or one for each of several divisors.
struct StoredFactors {
  std::vector<int64_t> multipliers, shifts;
  std::vector<float> factors;  ///< of forms that keep scales
  bool zero_inside = false;    ///< of these: the zero point is added before the rounding
};

/// Whether the operator's form of requantization is in float32.
bool scales_in_float(Op op);
/// Whether it is one of PyTorch's engines, which add the bias behind the sum.
bool is_engine(Op op);

/// Of integer_conv2d or integer_linear.
Scale layer_scale(Body& body, Op op);
/// Of an operator without weights, with its clamp. `is_wide`: sums need 64 bits. `most`: the largest magnitude of one
/// where it may lie above 2^32.
Scale plain_scale(Body& body, Op op, const StoredFactors& factors, bool is_wide, int64_t most = 0);
/// Of an operator that only shifts what it made, as its attribute shift says.
Scale shifted_scale(Body& body, Op op);
/// How far a code of the operand may lie from its zero point.
int64_t reach(Value operand, int64_t zero_point);
/// The function for the attribute shift_rounding, "shift_half_up".
std::string shift_function(Body& body, Op op);

/// ".zero_point = 3, .low = 0, .high = 255": an operator's zero point and clamp.
std::string clamp_text(Op op);

}  // namespace halfstep::formats::c
