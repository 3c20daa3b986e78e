// Options of `quantize` that may improve a quantizer.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/tune/sensitivity/crushed.h"

namespace halfstep::sensitivity {

/// For example "--skip-layers" with layers, "--repair" with "equalize", "--overrides" with
/// "weights.granularity=channel", "--bits" with "fc=8/", or "--calibration-batches" with "64".
struct Remedy {
  std::string option;
  std::vector<std::string> values;  ///< the option is repeated for each value
  bool operator==(const Remedy&) const = default;
};

/// The options as shell text. Values that contain names are quoted.
std::string text_of(const Remedy& remedy);

/// Options that may give a crushed part its own codes, most likely first.
std::vector<Remedy> remedies_for(const Model& prepared, const CrushedPart& part);

}  // namespace halfstep::sensitivity
