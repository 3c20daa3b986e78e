// Conversion of a prepared network to an integer program.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {

/// Returns the integer program, the overflow proof of each accumulator, and the operators that stay in float. Throws
/// bad_input for a network of another stage or without calibration. Throws one unsupported Error with every layer and
/// channel whose shift or factor is out of range, whose accumulator could overflow, or that has no integer
/// implementation and may not stay in float.
quant::Conversion convert(const Model& prepared, const quant::ConvertOptions& options = {});

}  // namespace halfstep::api
