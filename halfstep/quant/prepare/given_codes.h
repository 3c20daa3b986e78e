// Codes of quantizers that a network had in another framework.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/quant/prepare/options.h"

namespace halfstep::quant {

/// Scales, zero points and the range of codes, with the values that they quantize.
struct GivenCodes {
  std::vector<float> scale = {};         ///< one, or one for each channel
  std::vector<int64_t> zero_point = {};  ///< one for each scale
  int64_t code_min = 0, code_max = 0;
  int64_t axis = -1;  ///< axis of the channels in the source's tensor, -1 for one scale

  bool operator==(const GivenCodes&) const = default;
};

/// The codes of a quantizer of another framework. Nothing if it computes its scale, or has no affine codes.
std::optional<GivenCodes> given_codes(const Model& model, Op quantizer);

/// The symmetric codes of one of Paddle's quantizers of a stored tensor: its largest magnitude, learned or computed,
/// has the largest code. Nothing for other quantizers.
std::optional<GivenCodes> codes_of_magnitudes(const Model& model, Op quantizer);

/// Gives a quantizer of a prepared network these codes, and fixes their scale. Returns a description of everything that
/// was kept: codes, bit width and scale, or only the range where the platform does not allow the rest.
std::string keep_codes(Model& prepared, const ops::FakeQuantize& quantizer, GivenCodes codes,
                       const PrepareOptions& options);

}  // namespace halfstep::quant
