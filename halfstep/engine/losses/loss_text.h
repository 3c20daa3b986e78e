// A loss of a network as text: terms such as `mse(output=p3) * 0.5 + focal(alpha=0.25, output=p4)`.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/engine/losses/losses.h"

namespace halfstep::losses {

struct Term {
  const LossInfo* info = nullptr;
  double factor = 1;
  std::map<std::string, std::string> operands = {};  ///< names of outputs and targets, by operand or `weight`
  std::vector<double> options = {};                  ///< in the order of the record
  Reduction reduction = Reduction::mean;
  std::optional<double> ignore = {};
};

using LossText = std::vector<Term>;

/// Reads terms that are joined by `+`. A term is NAME or NAME(KEY=VALUE, ...), with a factor in front or behind. Keys
/// are the operands and options of the loss, `weight`, `ignore` and `reduction` (mean or sum). A value with commas,
/// quotes or parentheses is in double quotes. Throws bad_input with the position.
LossText parse_loss(std::string_view text);

/// mean, sum or none.
Reduction parse_reduction(std::string_view text);

}  // namespace halfstep::losses
