// The results of `quantize` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/quantize.h"

namespace halfstep::report {

/// The platform, the audit of every layer with weights, the calibration samples and the float fallbacks.
std::string as_text(const api::QuantizeResult& quantized);
/// The content of the text as JSON, with the resolved platform record.
std::string as_json(const api::QuantizeResult& quantized);

}  // namespace halfstep::report
