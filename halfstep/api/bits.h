// Bits for every layer by what the network may cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/quantize.h"
#include "halfstep/bits/allocation.h"

namespace halfstep::api {

struct BitsOptions {
  bits::Options how = {};
  /// For a float network: it is quantized for this platform first.
  std::optional<Platform> platform = {};
  QuantizeOptions quantize = {};  ///< of a float network; how ranges are calibrated for any
};

struct Bits {
  bits::Allocation result;
  std::string network, platform;
};

/// The prepared network with the widths of the least harm within all budgets, by the training part of `data`. Throws as
/// bits::allocate, for an integer program, and for a float network without a platform.
Bits bits(const Model& network, const Dataset& data, const BitsOptions& options, const Settings& settings);

}  // namespace halfstep::api
