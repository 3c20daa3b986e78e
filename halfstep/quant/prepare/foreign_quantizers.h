// Imports networks that another framework quantized in training, and keeps the ranges that its quantizers learned.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "halfstep/quant/prepare/given_codes.h"

namespace halfstep::quant {

/// Results of the training of a quantizer in another framework.
struct GivenQuantizer {
  std::optional<float> magnitude = {};   ///< the largest magnitude, if only that is known
  std::optional<GivenCodes> codes = {};  ///< scales, zero points and the range of codes
  Tensor scales = {};                    ///< the scale of each element of a quantized tensor, else undefined
};

/// Quantizers by the name of the quantized value.
using GivenQuantizers = std::map<std::string, GivenQuantizer>;

/// Removes quantizers of other frameworks from a float network, single ones or quantize-dequantize pairs. Throws
/// unsupported if other operators read codes, because the float values that our quantizers need are then missing.
GivenQuantizers take_out_quantizers(Model& model);

/// Replaces the contents of each quantized tensor by the scales of its elements. The network must have no quantizers
/// any more. Layers that are rewritten, for example with a batch norm folded into them, then have the scales of their
/// new weights in the place of these.
void write_scales(Model& model, const GivenQuantizers& given);

/// Gives the quantizers of a prepared network the codes, or else the ranges, of these quantizers. Observers do not
/// change them. From a magnitude, a range starts at 0 after a relu, and is symmetric otherwise. `weight_scales` are the
/// tensors of the float form of a network after write_scales. The reasons of the quantizers state what was kept.
void keep_given_quantizers(Model& prepared, const GivenQuantizers& given,
                           const std::map<std::string, Tensor>& weight_scales, const PrepareOptions& options);

}  // namespace halfstep::quant
