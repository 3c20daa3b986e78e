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
  bool holds() const;                   ///< returns whether no verb objects
};

/// Options of `inspect` and `inspect_file`.
struct InspectOptions : InspectFields {
  std::optional<Target> target = {};  ///< target whose objections are inspected too; default: none
};

/// A Halfstep Model and its program in evaluation mode.
struct Inspection {
  Stage stage = Stage::float_network;
  Model model;
  Model compiled;  ///< the network in evaluation mode, with assumed extents in place of dynamic dimensions
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
  std::vector<formats::NodeLine> nodes;         ///< all nodes, if InspectOptions request them
  std::map<std::string, double> seconds;        ///< duration of the steps open, import and compile
  std::optional<TargetInspection> target;       ///< objections for the target of the options, or problems of the import
};

/// Returns all objections of quantize, convert and train on the way of the float or prepared `network` to `target`.
/// Problems that depend on samples (ranges, and sums that depend on them) are found only in a calibrated network.
/// Throws for an integer program, and for a network prepared for another platform.
TargetInspection inspect_target(const Model& network, const Target& target);

/// Inspects a network of any stage, with its program in evaluation mode. A dynamic first dimension becomes
/// `options.batch`, any other one the first of kAssumedExtents (detail/known_extents.h) that the network accepts.
/// Throws if it accepts none, for a batch out of range, for an operator without a kernel on `options.device`, and the
/// errors of inspect_target if a target is set.
Inspection inspect(const Model& network, const InspectOptions& options = {});

/// Inspects an ONNX or Paddle file. Unsupported parts are listed in `coverage` instead of thrown. Dynamic dimensions
/// get extents as in `inspect`. Throws bad_input for a file that cannot be read or is damaged, and for a batch out of
/// range.
ForeignInspection inspect_file(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace halfstep::api
