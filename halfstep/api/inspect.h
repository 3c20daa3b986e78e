// What a network is made of and how it would run. The report room has these values as text and JSON.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/model.h"
#include "halfstep/base/place.h"
#include "halfstep/formats/import.h"
#include "halfstep/formats/node_list.h"
#include "halfstep/ir/model.h"
#include "halfstep/runtime/program.h"

namespace halfstep::api {

struct InspectOptions {
  bool nodes = false;  ///< of a foreign file also every node, with the names of its values
  int64_t batch = 1;   ///< stands for unknown leading extents
  Place place = {};
};

/// One of our Models, and its program in evaluation mode.
struct Inspection {
  Stage stage = Stage::in_float;
  Model model;
  Model compiled;  ///< in evaluation mode, with extents that are known
  runtime::Program program;
};

/// What a foreign file has, and what of it is not supported.
struct ForeignInspection {
  formats::Summary summary;
  formats::Coverage coverage;
  std::map<std::string, Dims> dims;         ///< of inputs with open extents, as they were taken
  std::optional<Model> model;               ///< where it can be had without inputs
  std::optional<runtime::Program> program;  ///< of the model, as `run` makes it
  std::vector<formats::NodeLine> nodes;     ///< where they are asked for
  std::map<std::string, double> seconds;    ///< that each step took
};

Inspection inspect(const Model& network, const InspectOptions& options = {});

/// The inspection of a foreign file. Open extents that are not the first are taken as 64: an image, or a sentence.
ForeignInspection inspect_file(const std::filesystem::path& path, const InspectOptions& options = {});

}  // namespace halfstep::api
