// The results of `analyze` as text and JSON.
#pragma once

#include <string>

#include "halfstep/api/analyze.h"

namespace halfstep::report {

/// The name of a quantizer in reports: "weights of conv1", "activations of conv1", "input 'image'".
std::string place_of(const quant::AuditedQuantizer& quantizer);

/// Results with and without quantizers, a table of the most sensitive quantizers, and advice.
std::string as_text(const api::AnalyzeResult& analysis);
/// All results, with the ranges of every observer and histograms.
std::string as_json(const api::AnalyzeResult& analysis);

}  // namespace halfstep::report
