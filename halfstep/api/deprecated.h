// Deprecated names, to be removed in version 0.3.
#pragma once

#include "halfstep/api/analyze.h"
#include "halfstep/api/bits.h"
#include "halfstep/api/evaluate.h"
#include "halfstep/api/export.h"
#include "halfstep/api/export_c.h"
#include "halfstep/api/quantize.h"
#include "halfstep/api/quickstart.h"
#include "halfstep/api/run.h"
#include "halfstep/api/tools/passes.h"
#include "halfstep/api/train.h"
#include "halfstep/core/base/version.h"

namespace halfstep::api {

using Analysis HALFSTEP_DEPRECATED("0.1", "AnalyzeResult") = AnalyzeResult;
using Bits HALFSTEP_DEPRECATED("0.1", "BitsResult") = BitsResult;
using Comparison HALFSTEP_DEPRECATED("0.1", "TensorComparison") = TensorComparison;
using Evaluation HALFSTEP_DEPRECATED("0.1", "EvaluateResult") = EvaluateResult;
using Exported HALFSTEP_DEPRECATED("0.1", "ExportResult") = ExportResult;
using ExportedC HALFSTEP_DEPRECATED("0.1", "ExportCResult") = ExportCResult;
using Passed HALFSTEP_DEPRECATED("0.1", "PassResult") = PassResult;
using Quantized HALFSTEP_DEPRECATED("0.1", "QuantizeResult") = QuantizeResult;
using QuickstartOutcome HALFSTEP_DEPRECATED("0.1", "QuickstartResult") = QuickstartResult;
using Trained HALFSTEP_DEPRECATED("0.1", "TrainResult") = TrainResult;

}  // namespace halfstep::api
