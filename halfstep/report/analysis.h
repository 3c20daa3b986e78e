// Where a quantized network loses.
#pragma once

#include <string>

#include "halfstep/api/analyze.h"

namespace halfstep::report {

/// "weights of conv1", "features of conv1", "input 'image'".
std::string place_of(const quant::AuditedQuantizer& quantizer);

/// The network with and without quantizers, the most harmful quantizers in a table, and what may be done.
std::string as_text(const api::AnalyzeResult& analysis);
/// Everything, with ranges by observers and histograms.
std::string as_json(const api::AnalyzeResult& analysis);

}  // namespace halfstep::report
