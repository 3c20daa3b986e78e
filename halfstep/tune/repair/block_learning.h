// Learns block by block from stored values. AdaRound, BRECQ, QDrop and learned step sizes are one engine with different
// settings.
#pragma once

#include "halfstep/tune/repair/method.h"
#include "halfstep/tune/repair/part.h"

namespace halfstep::repair {

struct Learning {
  const char* name;
  Grain grain;
  bool rounds_weights;      ///< learn to round each weight up or down, otherwise weights are rounded to nearest
  bool rounds_activations;  ///< quantize activations while weights are learned
  bool learns_steps;        ///< learn step sizes of activations, and of weights unless rounds_weights
  double keep = 1;          ///< share of activation elements to quantize, the others stay float
  bool weighs = false;      ///< weight elements by their influence on the network's outputs
};

/// Learns all blocks in order. The inputs of a block are the outputs of the learned blocks before it.
Change learn(const State& state, const RepairContext& context, const Learning& learning);

}  // namespace halfstep::repair
