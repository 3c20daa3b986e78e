// Mixed precision: bit widths per layer within budgets, followed by repair, fine-tuning, conversion and verification.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/convert.h"
#include "halfstep/api/options.h"
#include "halfstep/api/quantize.h"
#include "halfstep/api/train.h"
#include "halfstep/api/verify.h"
#include "halfstep/train/loop/run_folder.h"
#include "halfstep/tune/allocation/allocation.h"

namespace halfstep::api {

/// Result of `bits`. Optional members are set if the options requested the step.
struct BitsResult {
  struct Proof {
    Model integer;
    verify::VerifyReport equivalence;  ///< comparison on the test split
  };
  /// The model is the result of all steps. All other members describe the network before repair.
  allocation::Allocation allocation;
  std::string network, platform;
  std::optional<repair::Report> repaired = {};
  std::optional<TrainResult> trained =
      {};  ///< fine-tuning. `model` is empty, because that of `allocation` is the result
  std::optional<Proof> proof = {};
};

/// Returns the prepared network with the bit widths of least sensitivity within all budgets. Uses the training split of
/// `data`. Then runs the further steps of the options. Throws unsupported if no assignment meets the budgets, with the
/// nearest one in the message. Throws bad_input for an integer program, a float network without a platform, options out
/// of range and samples that do not match. Errors of repair, training or conversion are reported before any work.
BitsResult bits(const Model& network, const Dataset& data, const BitsOptions& options = {},
                const Settings& settings = {});

}  // namespace halfstep::api
