// Generates a network and a target from a seed.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/fuzz/networks/random_network.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::fuzz {

/// Returns the network of a seed, which is the same on every machine. Four of five networks are plain. Over many seeds,
/// every importable operator occurs about equally often.
Network generate(uint64_t seed);

/// A platform with overrides and bit widths.
struct Target {
  std::string platform;
  std::vector<std::pair<std::string, std::string>> overrides;
  quant::PrepareOptions prepare;
  std::vector<std::pair<int, int>> bits;  ///< bit widths of weights and activations of some layers after calibration
  bool pad_channels = false;

  /// Command-line options of the target: "generic_int8 --overrides activations.bits=4 --weight-bits 2".
  std::string text() const;
};

/// The target for the network of the seed. `platform`, unless empty, replaces the random one.
Target random_target(uint64_t seed, const Network& network, const std::string& platform);

}  // namespace halfstep::fuzz
