// Single passes, and their effect on a network.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/pipeline.h"

namespace halfstep::api {

/// Returns the graph passes of `compile`, in order, each with a one-sentence description.
std::vector<PassInfo> passes();

/// Effect of one pass.
struct PassStep {
  std::string name;
  int64_t before = 0, after = 0;  ///< number of operations, including those in regions
  double seconds = 0;
  bool changed = false;  ///< true if the text of the network changed
  std::string network;   ///< text of the network after the pass
};

/// The rewritten network, and the effect of each pass in order.
struct PassResult {
  Model model;
  std::vector<PassStep> history;
};

/// Runs passes by name, in order. "all" means all passes except the disabled ones. Verifies the network after each
/// pass. Throws Error for an unknown name.
PassResult run_passes(const Model& model, const std::vector<std::string>& names,
                      const std::vector<std::string>& disabled = {});

}  // namespace halfstep::api
