// A part of a network as a network of its own.
#pragma once

#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::repair {

/// Neighbouring operators of a prepared network between values that have codes.
struct Block {
  std::string name;            ///< its layers with weights: "conv1", or "conv2 to conv4"
  std::vector<Op> ops;         ///< in order, observers and what is computed of tensors alone left out
  std::vector<Value> inputs;   ///< made before, read inside
  std::vector<Value> outputs;  ///< made inside, read behind or given by the network
};

enum class Grain {
  layers,  ///< one layer with weights each
  blocks   ///< what a single value goes into and comes out of, such as a residual block; else layers
};

/// The whole network in order, cut between quantized values. A stretch that several values lead around and that has
/// more layers than one learns at once is cut into layers.
std::vector<Block> blocks_of(const Model& prepared, Grain grain);

/// What lies behind a block, up to the network's outputs.
Block behind(const Model& prepared, const std::vector<Block>& blocks, size_t block);

/// The block with its tensors' contents; inputs are arguments and outputs outputs of the same names. Observers of
/// weights come along.
Model part_of(const Model& prepared, const Block& block);

}  // namespace halfstep::repair
