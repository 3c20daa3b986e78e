// What quantize did to a network.
#pragma once

#include <string>

#include "halfstep/api/quantize.h"

namespace halfstep::report {

/// The platform's record, the audit of every layer with weights, what it was calibrated on and what stays in float.
std::string as_text(const api::QuantizeResult& quantized);
/// The same as JSON.
std::string as_json(const api::QuantizeResult& quantized);

}  // namespace halfstep::report
