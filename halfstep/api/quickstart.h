// All of the way at once: train, quantize, fine-tune, convert, verify.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

struct QuickstartRequest : QuickstartFields {
  Dataset data = {};
  /// A float network, which is then not trained; without one a new one for the digits.
  std::optional<Model> network = {};
  Platform platform = {};
};

struct QuickstartReport {
  std::string platform, data, weights_digest;
  std::string tested;              ///< the part of the data that accuracies are of
  std::vector<std::string> notes;  ///< see notes_on
  bool has_accuracy = true;        ///< false for data without labels
  train::Course held_back;         ///< how fine-tuning went; empty without it
  double accuracy_float = 0, accuracy_calibrated = 0, accuracy_finetuned = 0, accuracy_integer = 0;
  int64_t samples = 0, peak_rss_bytes = 0;
  int64_t float_bytes = 0, integer_bytes = 0;           ///< of the files; 0 where nothing is written
  std::vector<std::pair<std::string, double>> seconds;  ///< by stage, in order
  verify::RoadReport roads;
  quant::Audit audit;
};

struct QuickstartOutcome {
  Model network, prepared, integer;
  QuickstartReport report;
};

/// Throws where `out` cannot be a folder, or holds an earlier run that is not to be replaced. `quickstart` asks first.
void require_free(const QuickstartRequest& request);

/// Trains a float network or takes a given one, prepares, calibrates, fine-tunes, converts and verifies it. Each Model
/// is written into the folder `out`, if one is named, as soon as it is there.
QuickstartOutcome quickstart(const QuickstartRequest& request, const Settings& settings = {});

}  // namespace halfstep::api
