// What may be done about a quantizer, as options of `quantize`.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/tune/sensitivity/crushed.h"

namespace halfstep::sensitivity {

/// "--skip-layers" with one layer or several; "--repair" with "equalize"; "--overrides" with
/// "weights.granularity=channel";
/// "--bits" with "fc=8/"; or "--calibration-batches" with "64".
struct Remedy {
  std::string option;
  std::vector<std::string> values;  ///< the option is given once for each
  bool operator==(const Remedy&) const = default;
};

/// As a shell reads it: what has a name in it is quoted.
std::string text_of(const Remedy& remedy);

/// What may give a crushed part codes of its own, likeliest first.
std::vector<Remedy> remedies_for(const Model& prepared, const CrushedPart& part);

}  // namespace halfstep::sensitivity
