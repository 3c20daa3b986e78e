// The results of `convert` as text and JSON.
#pragma once

#include <string>

#include "halfstep/quant/convert/convert.h"

namespace halfstep::report {

/// The proof of each accumulator, and the float fallbacks.
std::string as_text(const quant::Conversion& conversion);
/// The content of the text as JSON.
std::string as_json(const quant::Conversion& conversion);

}  // namespace halfstep::report
