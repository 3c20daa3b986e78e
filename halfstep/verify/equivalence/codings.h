// Matches the values of an integer program with the prepared network and the source model, only by names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::verify {

/// Rounding direction of ties.
enum class Ties { even, away, up };

/// Code format of a quantizer in the prepared network.
struct CodeFormat {
  double scale = 1;
  int64_t zero_point = 0, code_min = 0, code_max = 255;
  Ties ties = Ties::even;
  std::string requantize = {};
  int multiplier_bits = 31;
  std::string shift_rounding = "half_up";
  int average_bits = 0;

  /// The code of a real number that is given in steps of the scale. NaN has the lowest code.
  int64_t code(double steps) const;
};

/// A value of the integer program: codes, or float values of an operator that stays in float.
struct Coding {
  std::string layer;             ///< name of the operator and value in the integer program
  Op op;                         ///< operation of the integer program
  bool real = false;             ///< whether the operator stays in float and has no codes
  bool positions = false;        ///< positions of elements, which the order of codes determines: steps of scale 1
  CodeFormat format = {};        ///< format of the codes
  Value source;                  ///< value in the source model, null if it has none
  Value prepared;                ///< value of the prepared network with the same numbers, after its quantizer
  std::vector<size_t> operands;  ///< codings that the operator reads, in order
};

/// The codings of all values of `integer` except dequantized ones, in the program's order. The format of a layer's
/// codes comes from the first quantizer after it in `prepared`. An operator that only moves codes keeps its name and
/// the format of its input. Throws Error for codes without a matching quantizer.
std::vector<Coding> codings_of(const Model& prepared, const Graph& integer, const Graph& source);

/// The value of `source` that corresponds to the value `of` of the prepared network. It has the same name, and is a
/// tensor if `of` is one. If preparation folded a layer's tail into it, or removed another framework's quantizer after
/// it, the value after that part is returned. This does not apply to a tail that became a separate layer. Null if there
/// is no such value.
Value source_value(const Graph& source, const Graph& prepared, Value of);

Ties ties_of(const ops::FakeQuantize& quantizer);

/// Scales by channel, as the quantizer applies them.
std::vector<float> scales_of(const Model& prepared, const ops::FakeQuantize& quantizer);

}  // namespace halfstep::verify
