// Information stored with a network in addition to graph and tensors: its processing history and the decisions made.
// Model files store it as one JSON object with the keys of metadata_fields.h. docs/design/metadata.md has the reasons
// for this design.
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
  // Declared here and compiled once, in metadata.cpp, because every room copies and destroys Models.
  Metadata();
  Metadata(const Metadata&);
  Metadata(Metadata&&) noexcept;
  Metadata& operator=(const Metadata&);
  Metadata& operator=(Metadata&&) noexcept;
  ~Metadata();
  bool operator==(const Metadata&) const;

  Stage stage = Stage::float_network;
  PlatformRecord platform = {};  ///< for a prepared network, and for an integer program made from one

  std::optional<PreprocessRecord> preprocess = {};
  GivenNames given_names = {};
  std::vector<std::string> quantizers_as_arithmetic = {};  ///< nodes of the source file that make codes, computed in
                                                           ///< float here
  std::string closed_extents = {};  ///< dynamic dimensions of the source file that are fixed here, with the reason; a
                                    ///< sentence for users

  FloatOperators float_operators = {};
  QuantizerReasons quantizer_reasons = {};
  Deviations deviations = {};
  std::optional<FirstLastScales> first_last_scales = {};
  std::vector<Normalization> normalizations = {};
  std::vector<LearnedQuantizer> learned_quantizers = {};
  std::map<std::string, Dims> calibrated_lengths = {};  ///< largest extents for which the ranges are valid, by argument

  CodeFormats code_formats = {};
  TableOrigins tables = {};

  std::optional<TrainingRun> training_run = {};
  std::string repair_run = {};  ///< for a corrected block: everything that determines its bits

  std::map<std::string, std::string> notes = {};  ///< free text of users; the library never reads it
};

}  // namespace halfstep
