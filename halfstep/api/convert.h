// Conversion of a prepared network to an integer program.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {

/// Returns the integer program, the overflow proof of each accumulator, and the operators that stay in float. Throws as
/// quant::convert, and for a network of another stage.
quant::Conversion convert(const Model& prepared, const quant::ConvertOptions& options = {});

}  // namespace halfstep::api
