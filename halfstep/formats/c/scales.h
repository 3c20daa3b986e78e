// Requantization of sums to codes: the functions and constants of docs/arithmetic.md, sections 4 and 10, in C. They are
// an independent implementation of that page and share no code with `arith`. Internal to this room.
#pragma once

#include <string>

#include "halfstep/formats/c/body.h"

namespace halfstep::formats::c {

/// C names for the requantization of a sum.
struct Scale {
  std::string type;    ///< name of the struct
  std::string code;    ///< name of the function
  std::string sum;     ///< type of a sum: "int32_t" or "int64_t"
  std::string object;  ///< address of the struct
  /// A field of the struct that points to a number for each channel.
  struct Table {
    std::string type, field;
  };
  std::vector<Table> tables = {};
  /// Returns the words of a template.
  Words words() const { return {{"scale", type}, {"code", code}, {"sum", sum}}; }
};

/// One factor as stored in a program, or one for each of several divisors.
struct StoredFactors {
  std::vector<int64_t> multipliers, shifts;
  std::vector<float> factors;  ///< for forms that keep scales
  bool zero_inside = false;    ///< for these forms: the zero point is added before rounding
};

/// Whether the operator requantizes in float32.
bool scales_in_float(Op op);
/// Whether the form is one of PyTorch's engines, which add the bias after the sum.
bool is_engine(Op op);

/// For integer_conv2d or integer_linear.
Scale layer_scale(Body& body, Op op);
/// For an operator without weights, with its clamp. `is_wide`: sums need 64 bits. `most`: the largest magnitude of a
/// sum if it can exceed 2^32.
Scale plain_scale(Body& body, Op op, const StoredFactors& factors, bool is_wide, int64_t most = 0);
/// For an operator that only shifts its result, by its attribute shift.
Scale shifted_scale(Body& body, Op op);
/// Returns the maximum distance of a code of the operand from its zero point.
int64_t largest_magnitude(Value operand, int64_t zero_point);
/// Returns the function for the attribute shift_rounding, such as "shift_half_up".
std::string shift_function(Body& body, Op op);

/// Returns ".zero_point = 3, .low = 0, .high = 255" for an operator's zero point and clamp.
std::string clamp_text(Op op);

}  // namespace halfstep::formats::c
