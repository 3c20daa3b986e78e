// Quantization sensitivity analysis: the effect of each quantizer alone, of all together, and of all but one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/progress.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/machine/parallel.h"
#include "halfstep/data/pipeline/samples.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/tune/sensitivity/curvature.h"
#include "halfstep/tune/sensitivity/options.h"
#include "halfstep/tune/sensitivity/remedy.h"
#include "halfstep/tune/sensitivity/watch.h"

namespace halfstep::sensitivity {

/// Difference of two validation results: numbers of the second minus numbers of the first.
struct Change {
  double loss = 0;
  std::optional<double> right = {};  ///< change of accuracy or agreement, in shares of samples; absent without either
};
Change operator-(const train::ValidationResult& second, const train::ValidationResult& first);

/// The range that an observer would choose for one quantizer.
struct ObservedRange {
  std::string observer;     ///< name in platform records
  float low = 0, high = 0;  ///< representable range, the outermost of several channels
  double sqnr_db = 0;       ///< SQNR of the float network's values on the watched samples
};

/// A finding of a rule at a quantizer, with options that may help.
struct Suggestion {
  std::string reason;
  std::vector<Remedy> remedies;
};

struct QuantizerAnalysis {
  std::string name;  ///< name of the quantizer in the graph
  quant::AuditedQuantizer quantizer;
  Watched seen;
  Change alone;    ///< change from the float network to the network with this quantizer alone
  Change up_to;    ///< change from the float network to the network with this quantizer and all before it
  Change without;  ///< change from the network with all quantizers to that without this one
  std::vector<ObservedRange> ranges = {};
  std::optional<Curvature> curvature = {};  ///< absent if gradients do not reach the quantizer
  double sensitivity = 0;                   ///< result of sensitivity_of
  bool is_badly_scaled = false;             ///< result of mark_badly_scaled
  std::vector<Suggestion> advice = {};
  std::vector<std::string> suggestions = {};  ///< sentences of `advice`
};

/// Sensitivity of a quantizer: the mean of the loss that it adds to the float network, and of the loss that the
/// quantized network loses without it. A negative value counts as 0.
double sensitivity_of(const Change& alone, const Change& without);

/// Marks badly scaled quantizers. Such a quantizer wastes at least three bits more than the median quantizer, and its
/// median channel has fewer than six bits left. The measured loss alone does not decide: it can be small by chance on
/// some samples, and large on others.
void mark_badly_scaled(std::vector<QuantizerAnalysis>& quantizers);

struct Analysis {
  int64_t samples = 0;
  /// If false, every loss is a distance to the float network, and `right` the agreement with it.
  bool has_labels = false;
  /// Results without quantizers, with all quantizers in float arithmetic, and with integers.
  train::ValidationResult in_float, rounded, on_codes;
  /// Badly scaled quantizers first, most wasted bits first. Then by decreasing sensitivity. Ties are in graph order.
  std::vector<QuantizerAnalysis> quantizers = {};
  std::vector<std::string> notes = {};  ///< values that could not be computed, with the reason
};

/// Analyzes a prepared, calibrated network on samples of matching shape. Results do not depend on the number of
/// threads. Throws if the network is not prepared, if there are no samples, or if layers compute NaN or infinity. The
/// message names these layers.
Analysis analyze(const Model& prepared, const data::Samples& samples, const AnalyzeOptions& options, ThreadPool& pool,
                 const ProgressCallback& progress = {});

}  // namespace halfstep::sensitivity
