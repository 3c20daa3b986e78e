// What travels with a network beside its graph and its tensors: what was done to it, and what was decided then. Model
// files hold it as one JSON object, whose keys are in metadata_fields.h; docs/design/metadata.md says why.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/base/shape.h"
#include "halfstep/core/ir/metadata/code_formats.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/metadata/normalization.h"
#include "halfstep/core/ir/metadata/preprocess_record.h"
#include "halfstep/core/ir/metadata/stage.h"
#include "halfstep/core/ir/metadata/stored_platform.h"
#include "halfstep/core/ir/metadata/table_origin.h"
#include "halfstep/core/ir/metadata/training_run.h"

namespace halfstep {

struct Metadata {
  // Copied and destroyed with every Model, in all rooms: compiled once, in metadata.cpp.
  Metadata();
  Metadata(const Metadata&);
  Metadata(Metadata&&) noexcept;
  Metadata& operator=(const Metadata&);
  Metadata& operator=(Metadata&&) noexcept;
  ~Metadata();
  bool operator==(const Metadata&) const;

  Stage stage = Stage::float_network;
  PlatformRecord platform = {};  ///< of a prepared network, and of an integer program that was made of one

  std::optional<PreprocessRecord> preprocess = {};
  GivenNames given_names = {};
  std::vector<std::string> quantizers_as_arithmetic = {};  ///< nodes of the file that make codes, and are float here
  std::string closed_extents = {};  ///< which open extents of the file are fixed here, and why; a sentence for people

  FloatOperators float_operators = {};
  QuantizerReasons quantizer_reasons = {};
  Deviations deviations = {};
  std::optional<EdgeScales> edge_scales = {};
  std::vector<Normalization> normalizations = {};
  std::vector<LearnedQuantizer> learned_quantizers = {};
  std::map<std::string, Dims> calibrated_lengths = {};  ///< the largest extents that ranges hold for, by argument

  CodeFormats code_formats = {};
  TableOrigins tables = {};

  std::optional<TrainingRun> training_run = {};
  std::string repair_run = {};  ///< of a learned block: all that decides its bits

  std::map<std::string, std::string> notes = {};  ///< free text of users, which nothing reads
};

}  // namespace halfstep
