// Where a quantized network loses: every quantizer by itself, all of them together, and all but each.
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
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/tune/sensitivity/curvature.h"
#include "halfstep/tune/sensitivity/options.h"
#include "halfstep/tune/sensitivity/remedy.h"
#include "halfstep/tune/sensitivity/watch.h"

namespace halfstep::sensitivity {

/// Between two standings: the second's numbers minus the first's.
struct Change {
  double loss = 0;
  std::optional<double> right = {};  ///< share of samples; absent where nothing says what is right
};
Change operator-(const train::Standing& second, const train::Standing& first);

/// What an observer would choose for one quantizer.
struct ObservedRange {
  std::string observer;     ///< as records of platforms have it
  float low = 0, high = 0;  ///< that codes reach; of several channels the outermost
  double sqnr_db = 0;       ///< of the float network's values, on the samples that were watched
};

/// What a rule found at a quantizer, and the options that may help.
struct Suggestion {
  std::string reason;
  std::vector<Remedy> remedies;
};

struct QuantizerAnalysis {
  std::string name;  ///< of the quantizer in the graph
  quant::AuditedQuantizer quantizer;
  Watched seen;
  Change alone;    ///< from the float network to one that has this quantizer alone
  Change up_to;    ///< from the float network to one that has this quantizer and all in front of it
  Change without;  ///< from all quantizers to all but this one
  std::vector<ObservedRange> ranges = {};
  std::optional<Curvature> curvature = {};  ///< absent where gradients do not reach
  double harm = 0;                          ///< see harm_of
  bool is_misfit = false;                   ///< see mark_misfits
  std::vector<Suggestion> advice = {};
  std::vector<std::string> suggestions = {};  ///< the same in words
};

/// What a quantizer costs in loss: the mean of what it costs alone and of what the quantized network gains without it,
/// each counted where it is a loss.
double harm_of(const Change& alone, const Change& without);

/// A quantizer is a misfit where its range wastes three bits more than the median quantizer's and leaves its median
/// channel fewer than six. What that costs on some samples may be no more than chance, and on others it is not.
void mark_misfits(std::vector<QuantizerAnalysis>& quantizers);

struct Analysis {
  int64_t samples = 0;
  bool has_labels = false;                      ///< else loss is the distance to the float network, and what is right
                                                ///< is agreement with it
  train::Standing in_float, rounded, on_codes;  ///< without quantizers, with all in float arithmetic, and in integers
  /// Misfits, those that waste most first; then the most harmful; of equals the first of the graph.
  std::vector<QuantizerAnalysis> quantizers = {};
  std::vector<std::string> notes = {};  ///< what could not be computed, and why
};

/// Of a prepared, calibrated network on samples that fit it. The same numbers for any number of threads. Throws where
/// it is not prepared, where there are no samples, and where a layer gives NaN or infinity on them, naming all.
Analysis analyze(const Model& prepared, const data::Samples& samples, const AnalyzeOptions& options, ThreadPool& pool,
                 const ProgressCallback& progress = {});

}  // namespace halfstep::sensitivity
