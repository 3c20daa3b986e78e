// The values of an integer program, joined by names alone with the prepared network that it was made from and with the
// network that came in.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::verify {

/// Where a tie goes.
enum class Ties { even, away, up };

/// How a quantizer of the prepared network makes codes.
struct CodeFormat {
  double scale = 1;
  int64_t zero_point = 0, code_min = 0, code_max = 255;
  Ties ties = Ties::even;
  std::string requantize;
  int multiplier_bits = 31;
  std::string shift_rounding = "half_up";

  /// The code of a real number in steps of the scale; NaN has the lowest.
  int64_t code(double steps) const;
};

/// A value of the integer program: what an operator gives in codes, or in reals where it stayed in float.
struct Coding {
  std::string layer;             ///< operator and value of the integer program
  Op op;                         ///< of the integer program
  bool real = false;             ///< an operator that gives no codes: it stayed in float
  CodeFormat format = {};        ///< of codes
  Value source;                  ///< what the value is in the network that came in; null where that has no such value
  Value prepared;                ///< the value of the prepared network that has these numbers, behind its quantizer
  std::vector<size_t> operands;  ///< the codings that the operator reads, in order
};

/// Every value of `integer` but dequantized ones, in the program's order. The codes of a layer are those of the first
/// quantizer behind it in `prepared`, which reads the value that they stand for; an operator that only moves codes
/// keeps its name and the format of what it reads. Throws Error for codes that no quantizer explains.
std::vector<Coding> codings_of(const Model& prepared, const Graph& integer, const Graph& source);

/// The value of `source` that is the value `of` of the prepared network: the one of its name, stored where `of` is, or
/// what stands behind it where preparation folded a layer's tail into it or took another framework's quantizer out, but
/// not where that became a layer of its own. Null where there is none.
Value source_value(const Graph& source, const Graph& prepared, Value of);

Ties ties_of(const ops::FakeQuantize& quantizer);

/// Contents of a quantizer's scale, by channel, as the quantizer applies it.
std::vector<float> scales_of(const Model& prepared, const ops::FakeQuantize& quantizer);

}  // namespace halfstep::verify
