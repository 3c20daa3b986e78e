// Bits for every layer by what the network may cost, and what follows: repair, fine-tuning, conversion, the proof.
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

struct BitsResult {
  struct Proof {
    Model integer;
    verify::RoadReport roads;  ///< on the test part
  };
  /// Its model is the result of all steps; everything else is of the network before repair.
  allocation::Allocation allocation;
  std::string network, platform;
  std::optional<repair::Report> repaired = {};
  std::optional<TrainResult> trained = {};  ///< without its model, which is the result's
  std::optional<Proof> proof = {};
};

/// The prepared network with the widths of the least harm within all budgets, by the training part of `data`, and what
/// the options ask for after that. Throws as allocation::allocate, for an integer program, for a float network without
/// a platform, and before any work what repair, training or conversion would refuse.
BitsResult bits(const Model& network, const Dataset& data, const BitsOptions& options = {},
                const Settings& settings = {});

}  // namespace halfstep::api
