// Tries `quantize` options on a prepared network before they are advised as remedies.
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

/// Samples and settings for the trials.
struct Trials {
  const data::Samples& learned;  ///< samples for calibration and repairs
  train::CalibrateOptions calibration;
  ThreadPool& pool;
  bool for_large = false;  ///< also tries remedies for crushed parts of large networks, which takes minutes
};

/// Returns `prepared` with the remedy applied: repaired (with fewer optimization steps), with other bit widths, or
/// prepared again from its float form and calibrated. Returns nullopt if the platform or the network does not allow it.
std::optional<Model> with_remedy(const Model& prepared, const sensitivity::Remedy& remedy, const Trials& trials);

/// A part whose values are crushed or infinite (sensitivity::crushed_values).
struct CrushedWarning {
  std::string quantizer;  ///< name in the graph
  /// Warning with remedy. For a crushed part: the remedy that helps and its effect on the output, or the command that
  /// tries some.
  std::string sentence;
};

/// Returns warnings for all crushed parts and infinite values of the prepared network, measured on the samples
/// `watched`.
std::vector<CrushedWarning> warnings_on(const Model& prepared, const data::Samples& watched, const Trials& trials);

/// Returns warnings for tensors that use very few codes, or only code 0.
std::vector<std::string> warnings_on_tensors(const quant::Audit& audit);

/// Adds both kinds of warnings to `notes`.
void add_warnings(std::vector<std::string>& notes, const Model& prepared, const data::Samples& watched,
                  const Trials& trials);

/// Tries remedies from the advice of the analysis, at most `most`, starting with the first quantizers. The
/// `suggestions` of a quantizer then name only remedies that help on the trial's samples, with their gain. A remedy
/// helps if it lowers the loss, or the distance to the outputs of the float network.
void try_advice(sensitivity::Analysis& analysis, const Model& prepared, const sensitivity::Trial& trial,
                const Trials& trials, int64_t most, const ProgressCallback& progress);

}  // namespace halfstep::api
