// What convert made of a network.
#pragma once

#include <string>

#include "halfstep/quant/convert/convert.h"

namespace halfstep::report {

/// The proof of each accumulator, and what stays in float.
std::string as_text(const quant::Conversion& conversion);
/// The same as JSON.
std::string as_json(const quant::Conversion& conversion);

}  // namespace halfstep::report
