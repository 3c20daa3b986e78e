// Prepared network -> integer program.
#pragma once

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {

/// The integer program, the proof of each accumulator and the operators that stay in float (quant::convert, which says
/// what it refuses). Throws for a network of another stage.
quant::Conversion convert(const Model& prepared, const quant::ConvertOptions& options = {});

}  // namespace halfstep::api
