// The training step of a single block: minimizes the difference between its quantized and its float outputs.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/tune/repair/block_learning.h"

namespace halfstep::repair {

// Arguments of a step in addition to the block's inputs and passes::kLearningRate. They are f32[1], except for those of
// a value.
inline constexpr const char* kSharpness = "rounding.sharpness";  ///< beta of the rounding regularizer
inline constexpr const char* kDecision = "rounding.decision";    ///< weight of the rounding regularizer
std::string target_argument(const std::string& output);          ///< float value of the output
std::string importance_argument(const std::string& output);      ///< importance of each element of the output
std::string real_argument(const std::string& input);             ///< float value of an input of the block

/// A block while its quantizers are learned.
struct LearningBlock {
  Model part;                       ///< with quantizers and their parameters (core/ir/metadata/learned_quantizer.h)
  std::vector<std::string> scales;  ///< learned step sizes
  bool learns() const;
  /// Names of the tensors that select which weights are rounded up.
  std::vector<std::string> choices() const;
};

/// Prepares a part for `learning`. Roundings start at the current weights. Step sizes become parameters if all their
/// quantizers are in this block. `counts`: number of quantizers of the whole network with each scale.
LearningBlock learning_block(Model part, const Learning& learning, const std::map<std::string, int64_t>& counts);

/// The network of one step for inputs of these shapes: forward, backward and update, without outputs. `spreads`: spread
/// of each output in the loss. Throws an Error if an operator has no gradient.
Model block_step(const LearningBlock& block, const Learning& learning, const std::map<std::string, Dims>& extents,
                 const std::map<std::string, double>& spreads);

/// The block after learning, from the step's tensors. Weights contain their roundings, and scales the step sizes.
Model learned_part(const LearningBlock& block, const std::map<std::string, Tensor>& tensors);

}  // namespace halfstep::repair
