// Passes as one sees them: what each does to a network.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/engine/compile/pipeline.h"

namespace halfstep::api {

/// The passes on networks that `compile` runs, in their order, each with a sentence.
std::vector<PassInfo> passes();

struct PassCourse {
  std::string name;
  int64_t before = 0, after = 0;  ///< operations, those in regions among them
  double seconds = 0;
  bool changed = false;  ///< the text of the network is another
  std::string network;   ///< that text
};

struct PassResult {
  Model model;
  std::vector<PassCourse> course;
};

/// Runs passes by their names, one after the other: "all" stands for all but those that are disabled. Throws Error for
/// a name that is none; the network is verified after each pass.
PassResult run_passes(const Model& model, const std::vector<std::string>& names,
                      const std::vector<std::string>& disabled = {});

}  // namespace halfstep::api
