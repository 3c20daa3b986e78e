// A comparison of roads for people.
#pragma once

#include <string>

#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::report {

/// One line for each layer: operator, bits, scale, elements compared, differing codes, codes that are not those of the
/// network that came in (near ties, beyond), SQNR.
std::string layers_table(const verify::RoadReport& report);

/// What differs first in each layer, or the statement that nothing does; the same of the layers beside the network that
/// came in; how near its outputs are; and the sentence.
std::string verdict(const verify::RoadReport& report);

/// One line for everybody: "integers equal the training network (0 of 4,561,700 codes differ); 99.2 % accuracy, float
/// 98.9 %".
std::string sentence(const verify::RoadReport& report);

/// What differs on roads that may; "" without them.
std::string variants_table(const verify::RoadReport& report);

/// All of it.
std::string as_text(const verify::RoadReport& report);
/// JSON; docs/reference/reports.md.
std::string as_json(const verify::RoadReport& report);

}  // namespace halfstep::report
