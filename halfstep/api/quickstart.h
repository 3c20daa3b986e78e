// All of the way at once: train, quantize, fine-tune, convert, verify.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/api/settings.h"
#include "halfstep/data/pipeline/augment.h"
#include "halfstep/data/pipeline/preprocess.h"
#include "halfstep/quant/convert/convert.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/train/evaluate/standing.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

struct QuickstartRequest {
  Dataset data = {};
  /// A float network, which is then not trained; without one a fresh one for the digits.
  std::optional<Model> network = {};
  train::PreprocessOptions preprocess = {};  ///< of raw values
  Platform platform = {};
  quant::PrepareOptions widths = {};
  bool pad_channels = false;               ///< as in QuantizeOptions
  std::optional<int64_t> max_length = {};  ///< the same
  std::filesystem::path out = {};          ///< folder for the three Models; "": nothing is written
  bool overwrite = false;                  ///< replace an earlier run in `out`, instead of refusing to
  int64_t float_epochs = 30, tune_epochs = 12;
  int64_t batch = 32;
  /// Peak of fine-tuning; without one 0.001 for a given network, 0.01 for a fresh one.
  std::optional<double> tune_rate = {};
  train::Augment augment = {};  ///< of images, in training alone
  bool distill = false;         ///< fine-tuning learns from the float form, though data has labels
  quant::ConvertOptions convert = {};
  int64_t stored_samples = 8;  ///< how many training samples travel with the prepared Model, for `verify`; 0: none
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
QuickstartOutcome quickstart(const QuickstartRequest& request, const Settings& settings);

}  // namespace halfstep::api
