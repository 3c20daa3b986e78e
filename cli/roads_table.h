// A comparison of roads for people.
#pragma once

#include <string>

#include "halfstep/halfstep.h"

namespace halfstep::cli {

/// One line for each layer: operator, bits, scale, elements compared, differing codes, SQNR.
std::string layers_table(const verify::RoadReport& report);

/// What differs first in each layer, or the statement that nothing does.
std::string verdict(const verify::RoadReport& report);

/// What differs on roads that may; "" without them.
std::string variants_table(const verify::RoadReport& report);

/// The same as JSON.
std::string roads_json(const verify::RoadReport& report);

}  // namespace halfstep::cli
