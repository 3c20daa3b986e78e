// The results of `bits` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/bits.h"

namespace halfstep::report {

/// Bit widths by layer, predicted and measured costs, the front, and the steps that followed the choice.
std::string as_text(const api::BitsResult& bits);
/// Everything in the text, and the sensitivity of every bit width.
std::string as_json(const api::BitsResult& bits);

}  // namespace halfstep::report
