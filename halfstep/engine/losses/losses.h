// Losses as functions of arrays: they run, differentiate and are captured like any computation on arrays.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/base/limits.h"
#include "halfstep/engine/capture/array.h"

namespace halfstep::losses {

using capture::Array;
using capture::Arrays;

enum class Reduction { mean, sum, none };

/// How the elements of a loss become its value.
struct Reduced {
  Reduction reduction = Reduction::mean;  ///< the mean is divided by the sum of the weights, and 0 if that is 0
  Array weight = {};                      ///< factor of each element, broadcast to them (empty: 1)
  std::optional<double> ignore = {};      ///< elements with this target do not count
};

/// A value that a loss takes.
struct Operand {
  enum class Kind {
    output,  ///< an output of the network
    target,  ///< a target of the data
    length   ///< a number for each sample, from the data. Optional
  };
  std::string name;
  Kind kind = Kind::output;
};

/// A number that a loss takes.
struct Option {
  std::string name;
  double value;  ///< default
  Limits range;
};

/// Operands and options of one call, in the order of the record.
struct Call {
  Arrays operands;
  std::vector<double> options;
  Array kept = {};                        ///< 1 for each element of the target that counts, else 0. Empty: all count
  Reduction reduction = Reduction::mean;  ///< only for a loss that divides by a length in a mean
};

struct LossInfo {
  /// Relation of the target to the output and to the elements of the loss.
  enum class Target {
    elements,   ///< the extents of the output, and an element of the loss for each
    boxes,      ///< the extents of the output, and an element of the loss for each box along the last axis
    positions,  ///< an element of the loss for each element of the target
    areas,      ///< the loss reads Call::kept, because its elements belong to many elements of the target
    none        ///< there is no target with a value to ignore
  };
  std::string name;
  std::vector<Operand> operands;
  std::vector<Option> options;
  Target target;
  Array (*elements)(const Call& call);  ///< the loss of each element, each box or each sample
};

const std::vector<LossInfo>& all_losses();
/// Throws bad_input for an unknown name, with the nearest one.
const LossInfo& require_loss(std::string_view name);

/// The loss of these operands (an empty Array: absent) with these options. Throws bad_input if operands do not fit, or
/// an option is out of its range.
Array loss(const LossInfo& info, Arrays operands, const std::vector<double>& options, const Reduced& how = {});

}  // namespace halfstep::losses
