// Structure and execution plan of a network. The report room presents these values as text and JSON.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/inputs/model.h"
#include "halfstep/api/options.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/engine/runtime/program.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/formats/import/node_list.h"
#include "halfstep/quant/convert/convert.h"

namespace halfstep::api {

/// Target of a network: the platform, and the options of the steps to it.
struct Target {
  Platform platform;
  quant::PrepareOptions prepare = {};
  bool pad_channels = false;
  quant::ConvertOptions convert = {};
  std::vector<std::string> regions = {};  ///< layer ranges, as in QuantizeOptions
};

/// Objections of one verb.
struct VerbObjections {
  std::string verb;  ///< quantize, convert, train
  std::vector<Diagnostic> objections;
};

/// Obstacles between a network and its target, found by the checks of the verbs.
struct TargetInspection {
  std::string platform;
  std::vector<VerbObjections> verbs;  ///< objections of quantize, convert and train, in this order
  std::vector<quant::FloatFallback> fallbacks;
  std::vector<std::string> padded;      ///< layers with more channels than in the network
  std::vector<std::string> notes = {};  ///< remarks of quantize and train that do not block any verb
  bool holds() const;                   ///< whether no verb objects
};

/// Options of `inspect` and `inspect_file`.
struct InspectOptions : InspectFields {
  std::optional<Target> target = {};  ///< if set, the objections for this target are inspected too
};

/// A Halfstep Model and its program in evaluation mode.
struct Inspection {
  Stage stage = Stage::float_network;
  Model model;
  Model compiled;  ///< in evaluation mode, with known extents
  runtime::ProgramSpec program;
  std::optional<TargetInspection> target = {};
};

/// Contents of a foreign file, and its unsupported parts.
struct ForeignInspection {
  formats::Summary summary;
  formats::Coverage coverage;
  std::map<std::string, Dims> dims;             ///< assumed extents of inputs with dynamic dimensions
  std::optional<Model> model;                   ///< absent if the import needs inputs
  std::optional<runtime::ProgramSpec> program;  ///< program of the model, as `run` compiles it
  std::vector<formats::NodeLine> nodes;         ///< if requested
  std::map<std::string, double> seconds;        ///< duration of each step
  std::optional<TargetInspection> target;       ///< if requested; without a model, the problems of its import
};

/// Returns all objections of quantize, convert and train on the way of the float or prepared `network` to `target`.
/// Problems that depend on samples (ranges, and sums that depend on them) are found only in a calibrated network.
/// Throws for an integer program, and for a network prepared for another platform.
TargetInspection inspect_target(const Model& network, const Target& target);

/// Inspects a network of any stage, with its program in evaluation mode. Assumes extents for dynamic dimensions.
Inspection inspect(const Model& network, const InspectOptions& options = {});

/// Inspects a foreign file. Dynamic dimensions other than the first become one of kAssumedExtents.
ForeignInspection inspect_file(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace halfstep::api
