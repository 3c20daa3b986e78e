// What options of `quantize` would make of a prepared network: tried before they are advised.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/quant/prepare/audit.h"
#include "halfstep/train/calibrate/calibrate.h"
#include "halfstep/tune/sensitivity/analysis.h"
#include "halfstep/tune/sensitivity/crushed.h"
#include "halfstep/tune/sensitivity/remedy.h"
#include "halfstep/tune/sensitivity/trial.h"

namespace halfstep::api {

/// How remedies are tried.
struct Trials {
  const data::Samples& learned;  ///< that calibration and repairs see
  train::CalibrateOptions calibration;
  ThreadPool& pool;
  bool for_large = false;  ///< whether remedies are tried for crushed parts of a large network too, which takes minutes
};

/// `prepared` as it would be with the remedy: repaired (with fewer steps of learning), with other widths, or prepared
/// anew of its float form and calibrated. Nothing where the platform or the network refuses it.
std::optional<Model> with_remedy(const Model& prepared, const sensitivity::Remedy& remedy, const Trials& trials);

/// A part that is crushed, or infinite (sensitivity::crushed_values).
struct CrushedWarning {
  std::string quantizer;  ///< in the graph
  /// With the remedy; of a crushed part with one that helps and what it makes of the output, or where to have it tried.
  std::string sentence;
};

/// Of all crushed parts and infinite values of the prepared network, looked at on the samples `watched`.
std::vector<CrushedWarning> warnings_on(const Model& prepared, const data::Samples& watched, const Trials& trials);

/// Of tensors whose numbers have hardly any codes, or all become 0.
std::vector<std::string> warnings_on_tensors(const quant::Audit& audit);

/// Both.
void add_warnings(std::vector<std::string>& notes, const Model& prepared, const data::Samples& watched,
                  const Trials& trials);

/// Tries the remedies of the analysis' advice, `most` at most, first those of the first quantizers. What a quantizer is
/// advised (`suggestions`) names those alone that lower the loss of the trial's samples, or the distance to the float
/// network's outputs there, and by how much.
void try_advice(sensitivity::Analysis& analysis, const Model& prepared, const sensitivity::Trial& trial,
                const Trials& trials, int64_t most, const ProgressCallback& progress);

}  // namespace halfstep::api
