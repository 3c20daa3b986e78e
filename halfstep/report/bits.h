// Bits by budget.
#pragma once

#include <string>

#include "halfstep/api/bits.h"

namespace halfstep::report {

/// Widths by layer, costs as predicted and as measured, the front, and what was done with the network after that.
std::string as_text(const api::BitsResult& bits);
/// The same, with the harm of every width.
std::string as_json(const api::BitsResult& bits);

}  // namespace halfstep::report
