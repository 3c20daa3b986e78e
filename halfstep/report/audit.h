// The quantization report as text and JSON.
#pragma once

#include <string>

#include "halfstep/quant/prepare/audit.h"

namespace halfstep::report {

/// One line for each operation on codes: its weights, the codes of its result and its requantization multiplier. Then
/// the operators that stay in float.
std::string as_text(const quant::Audit& audit);

/// Describes one tensor in sentences: its quantizer with reason and numbers, its shared scale group, its readers, and
/// whether it stays in float.
std::string as_text(const quant::TensorStory& story);

/// {"tensor", "quantizers", "float", "has_codes_of", "goes_to"}. See docs/reference/reports.md.
std::string as_json(const quant::TensorStory& story);

}  // namespace halfstep::report
