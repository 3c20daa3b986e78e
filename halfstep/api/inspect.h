// What a network is made of and how it would run. The report room has these values as text and JSON.
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

/// What a network is to become, with what is asked for on the way.
struct Target {
  Platform platform;
  quant::PrepareOptions prepare = {};
  bool pad_channels = false;
  quant::ConvertOptions convert = {};
  std::vector<std::string> regions = {};  ///< as in QuantizeOptions
};

/// What a verb would refuse.
struct VerbObjections {
  std::string verb;  ///< quantize, convert, train
  std::vector<Diagnostic> objections;
};

/// What stands between a network and its target, found by the checks of the verbs themselves.
struct TargetInspection {
  std::string platform;
  std::vector<VerbObjections> verbs;  ///< of each the objections, in this order: quantize, convert, train
  std::vector<quant::FloatIsland> islands;
  std::vector<std::string> padded;      ///< layers that have more channels than in the network
  std::vector<std::string> notes = {};  ///< what no verb refuses, and quantize says of the network
  bool holds() const;                   ///< no verb objects
};

struct InspectOptions : InspectFields {
  std::optional<Target> target = {};  ///< also what stands between the network and it
};

/// One of our Models, and its program in evaluation mode.
struct Inspection {
  Stage stage = Stage::float_network;
  Model model;
  Model compiled;  ///< in evaluation mode, with extents that are known
  runtime::ProgramSpec program;
  std::optional<TargetInspection> target = {};
};

/// What a foreign file has, and what of it is not supported.
struct ForeignInspection {
  formats::Summary summary;
  formats::Coverage coverage;
  std::map<std::string, Dims> dims;             ///< of inputs with open extents, as they were taken
  std::optional<Model> model;                   ///< where it can be had without inputs
  std::optional<runtime::ProgramSpec> program;  ///< of the model, as `run` makes it
  std::vector<formats::NodeLine> nodes;         ///< where they are asked for
  std::map<std::string, double> seconds;        ///< that each step took
  std::optional<TargetInspection> target;       ///< where it is asked for; without a model, what its import lacks
};

/// What quantize, convert and train would refuse on the way of the float or prepared `network` to `target`, all at
/// once. What only samples show (ranges, and sums that depend on them) is known of a calibrated network alone. Throws
/// for an integer program, and for a network that was prepared for another platform.
TargetInspection inspect_target(const Model& network, const Target& target);

Inspection inspect(const Model& network, const InspectOptions& options = {});

/// The inspection of a foreign file. Open extents that are not the first are taken as one of kAssumedExtents.
ForeignInspection inspect_file(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace halfstep::api
