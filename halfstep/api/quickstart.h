// All steps in one call: train, quantize, fine-tune, convert, verify.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/train/evaluate/history.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

/// Data, network and options of `quickstart`.
struct QuickstartRequest : QuickstartFields {
  Dataset data = {};
  /// Trained float network. If absent, a new network for the digits is trained.
  std::optional<Model> network = {};
  Platform platform = {};
};

/// Measured results of all steps of a quickstart.
struct QuickstartReport {
  std::string platform, data, weights_digest;
  std::string tested;              ///< split of the data for all accuracies
  std::vector<std::string> notes;  ///< warnings about the samples, the ranges and the training
  bool has_accuracy = true;        ///< false for data without labels
  train::TrainingHistory history;  ///< training history of fine-tuning; empty without fine-tuning
  /// Shares of right answers from 0 to 1 on the tested samples. 0 without labels.
  double accuracy_float = 0, accuracy_calibrated = 0, accuracy_finetuned = 0, accuracy_integer = 0;
  int64_t samples = 0;                                  ///< number of tested samples
  int64_t peak_rss_bytes = 0;                           ///< most memory that the process used, in bytes
  int64_t float_bytes = 0, integer_bytes = 0;           ///< file sizes; 0 if nothing is written
  std::vector<std::pair<std::string, double>> seconds;  ///< duration by stage, in order
  verify::VerifyReport equivalence;
  quant::Audit audit;
};

/// The network in all three stages, and the report.
struct QuickstartResult {
  Model network, prepared, integer;
  QuickstartReport report;
};

/// Throws bad_input if `out` cannot be a folder, or if it holds an earlier run and `overwrite` is not set. `quickstart`
/// calls it first.
void require_free(const QuickstartRequest& request);

/// Trains a float network or takes the given one. Then prepares, calibrates, fine-tunes, converts and verifies it.
/// Writes each Model into the folder `out`, if set, as soon as it is complete. Throws before any work for options out
/// of range, samples that do not match the network, a network that is not a float one, a folder as in require_free, and
/// one Error with everything that the platform rejects in quantization, training or conversion.
QuickstartResult quickstart(const QuickstartRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
