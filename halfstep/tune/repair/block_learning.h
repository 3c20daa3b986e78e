// Learning block by block from stored values: AdaRound, BRECQ, QDrop and learned step sizes are one engine with other
// settings.
#pragma once

#include "halfstep/tune/repair/method.h"
#include "halfstep/tune/repair/part.h"

namespace halfstep::repair {

struct Learning {
  const char* name;
  Grain grain;
  bool rounds_weights;   ///< learns whether each weight is rounded up or down; else weights stay and are rounded
  bool rounds_features;  ///< features are rounded while weights learn
  bool learns_steps;     ///< step sizes of features, and of weights where these are not rounded up or down
  double keep = 1;       ///< share of feature elements that are rounded, the others being as they are in float
  bool weighs = false;   ///< elements count by how much the network's outputs depend on them
};

/// Learns all blocks one after the other, each on what the learned ones before it give.
Change learn(const State& state, const Scene& scene, const Learning& learning);

}  // namespace halfstep::repair
