// Extracts a part of a network as a network.
#pragma once

#include <vector>

#include "halfstep/core/ir/model.h"

namespace halfstep::repair {

/// Consecutive operators of a prepared network, bounded by values with codes.
struct Block {
  std::string name;            ///< layers with weights, for example "conv1", or "conv2 to conv4"
  std::vector<Op> ops;         ///< in order, without observers and operations on tensors only
  std::vector<Value> inputs;   ///< values computed before the block and read in it
  std::vector<Value> outputs;  ///< values computed in the block, and read after it or returned by the network
};

enum class Grain {
  layers,  ///< one layer with weights in each block
  blocks   ///< blocks with one value in and one value out, for example residual blocks
};

/// The whole network in order, cut between quantized values. A block with more layers than can be learned together is
/// cut into layers.
std::vector<Block> blocks_of(const Model& prepared, Grain grain);

/// The rest of the network after a block, up to its outputs.
Block behind(const Model& prepared, const std::vector<Block>& blocks, size_t block);

/// The block as a Model with the contents of its tensors. Arguments and outputs keep their names. Includes observers of
/// weights.
Model part_of(const Model& prepared, const Block& block);

}  // namespace halfstep::repair
