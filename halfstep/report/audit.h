// How a network is quantized, for people and programs.
#pragma once

#include <string>

#include "halfstep/quant/prepare/audit.h"

namespace halfstep::report {

/// One line for each operation on codes: its weights, the codes of its result, what scales its sums; then what stays in
/// float.
std::string as_text(const quant::Audit& audit);

/// In sentences: whether it has a quantizer and why, its numbers, what shares them, who reads it, what stays in float.
std::string as_text(const quant::TensorStory& story);

/// {"tensor", "quantizers", "float", "has_codes_of", "goes_to"}.
std::string as_json(const quant::TensorStory& story);

}  // namespace halfstep::report
