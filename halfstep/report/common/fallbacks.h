// Float fallbacks as a part of other reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "halfstep/quant/prepare/float_fallback.h"

namespace halfstep::report {

/// A table of the operators, after a line with their number.
std::string as_text(const std::vector<quant::FloatFallback>& fallbacks);
nlohmann::ordered_json list_of(const std::vector<quant::FloatFallback>& fallbacks);

}  // namespace halfstep::report
