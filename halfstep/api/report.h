// Report page of a quantized network.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/analyze.h"
#include "halfstep/api/options.h"
#include "halfstep/api/quantize.h"
#include "halfstep/api/verify.h"
#include "halfstep/train/evaluate/history.h"

namespace halfstep::api {

/// A set of bit widths evaluated by a bit allocation.
struct TriedBitWidths {
  std::string kind;  ///< "front", "uniform" or "chosen"
  std::string what;  ///< bit widths in words
  double bytes = 0;  ///< size of the weights
  double loss = 0;   ///< distance of the outputs to those of the float network, relative to their spread
  std::optional<double> right = {};  ///< accuracy, or agreement with the float network, from 0 to 1
};

/// Execution time of one instruction of the integer program, by layer name.
struct LayerTime {
  std::string layer;
  double microseconds = 0;  ///< median over several runs with one sample, on the threads of the settings
};

/// A sample that the integer program misclassifies. Without labels: one where it disagrees with the float network.
/// Samples that the float network classifies correctly come first, then by index.
struct WorstSample {
  int64_t index = 0;                      ///< index in the inspected split
  std::string label, in_float, on_codes;  ///< class names; label: "" if unknown
  Tensor picture;                         ///< u8 [height, width, 3]; undefined if samples are not pictures
};

/// All contents of the report page.
struct NetworkReport {
  QuantizeResult audited;  ///< the network, and the report of its quantization
  AnalyzeResult analysis;
  std::optional<verify::VerifyReport> proof;
  std::string unproved;  ///< reason for a missing proof, or ""
  std::string with;      ///< backend that was compared as well, or ""
  std::vector<LayerTime> times = {};
  std::optional<train::TrainingHistory> history = {};
  std::vector<TriedBitWidths> bit_widths = {};
  std::vector<WorstSample> worst = {};
  int64_t wrong = 0;  ///< total number of such samples
};

/// Analyzes `prepared`, compares it with `integer`, or with its converted form, and measures times. If conversion
/// fails, the report has no proof but the reason. Throws bad_input for networks of other stages, samples that do not
/// match, options out of range, and files of `options.training` or `options.bits` that cannot be read. Throws if layers
/// compute NaN or infinity, and unsupported if a requested backend cannot run.
NetworkReport report(const Model& prepared, const std::optional<Model>& integer, const Dataset& data,
                     const ReportOptions& options = {}, const Settings& settings = {});

}  // namespace halfstep::api
