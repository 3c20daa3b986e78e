// Everything that is known of a quantized network, for one page.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/analyze.h"
#include "halfstep/api/options.h"
#include "halfstep/api/quantize.h"
#include "halfstep/api/verify.h"
#include "halfstep/train/evaluate/standing.h"

namespace halfstep::api {

/// Widths that a choice of bits looked at.
struct TriedWidths {
  std::string kind;  ///< "front", "uniform" or "chosen"
  std::string what;
  double bytes = 0, loss = 0;
  std::optional<double> right = {};  ///< accuracy or agreement
};

/// What an instruction of the integer program takes, under the name of its layer.
struct LayerTime {
  std::string layer;
  double microseconds = 0;  ///< the median of several runs of one sample, on the threads of the settings
};

/// A sample that the integers answer otherwise than its label, or than the network in float where there is none.
struct WorstSample {
  int64_t index = 0;                      ///< in the part that was looked at
  std::string label, in_float, on_codes;  ///< names of classes; label: "" without one
  Tensor picture;                         ///< u8 [height, width, 3]; undefined where samples are no pictures
};

struct NetworkReport {
  QuantizeResult audited;  ///< its model is the network
  AnalyzeResult analysis;
  std::optional<verify::RoadReport> proof;
  std::string unproved;  ///< why there is none; ""
  std::string with;      ///< the engine that bears witness too; ""
  std::vector<LayerTime> times = {};
  std::optional<train::Course> course = {};
  std::vector<TriedWidths> widths = {};
  std::vector<WorstSample> worst = {};
  int64_t wrong = 0;  ///< how many samples there are of that kind
};

/// Analyzes `prepared`, compares it with `integer`, or with what conversion makes of it, and times it. A network that
/// conversion refuses has no proof, and the report says why. Throws for other stages, and as analyze and verify do.
NetworkReport report(const Model& prepared, const std::optional<Model>& integer, const Dataset& data,
                     const ReportOptions& options = {}, const Settings& settings = {});

}  // namespace halfstep::api
