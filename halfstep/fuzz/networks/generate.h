// From a number to a network and a target.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/fuzz/networks/random_network.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::fuzz {

/// The same network for the same seed on every machine. Four of five are plain. Runs of seeds have every importable
/// operator about equally often.
Network generate(uint64_t seed);

/// A platform with overrides, and widths.
struct Target {
  std::string platform;
  std::vector<std::pair<std::string, std::string>> overrides;
  quant::PrepareOptions prepare;
  std::vector<std::pair<int, int>> bits;  ///< of weights and features of some layers after calibration
  bool pad_channels = false;

  /// "generic_int8 --overrides features.bits=4 --weight-bits 2": as the command line takes it.
  std::string text() const;
};

/// For the network of the seed; `platform` instead of a random one, where it is given.
Target random_target(uint64_t seed, const Network& network, const std::string& platform);

}  // namespace halfstep::fuzz
