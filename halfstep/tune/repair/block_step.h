// The training step of a single block: what it gives, held against what it gives in float.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/tune/repair/block_learning.h"

namespace halfstep::repair {

// Arguments of a step beside the inputs of the block and passes::kLearningRate, all f32[1] but those of a value.
inline constexpr const char* kSharpness = "rounding.sharpness";  ///< beta of the rounding term
inline constexpr const char* kDecision = "rounding.decision";    ///< how much the term counts
std::string target_argument(const std::string& output);          ///< what the output is in float
std::string importance_argument(const std::string& output);      ///< how much each of its elements counts
std::string real_argument(const std::string& input);             ///< an input of the block without any rounding

/// A block on its way to another form of itself.
struct LearningBlock {
  Model part;  ///< quantizers in their places, with what they learn (core/ir/metadata/learned_quantizer.h)
  std::vector<std::string> scales;  ///< learned step sizes
  bool learns() const;
  /// The tensors that say which weights are rounded up.
  std::vector<std::string> choices() const;
};

/// Readies a part for `learning`: roundings of weights start where they are, step sizes of quantizers that are in no
/// other block become parameters. `counts`: how many quantizers of the whole network have each scale.
LearningBlock learning_block(Model part, const Learning& learning, const std::map<std::string, int64_t>& counts);

/// Forward, backward and update on inputs of those extents; it gives nothing. `spreads`: of each output that counts.
/// Throws a Error where an operator has no gradient.
Model block_step(const LearningBlock& block, const Learning& learning, const std::map<std::string, Dims>& extents,
                 const std::map<std::string, double>& spreads);

/// The block as it is after learning, from the step's tensors: roundings are weights, step sizes scales.
Model learned_part(const LearningBlock& block, const std::map<std::string, Tensor>& tensors);

}  // namespace halfstep::repair
