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
  Tensor contents = {};                  ///< the contents of a quantized tensor, undefined for other values
};

/// Quantizers by the name of the quantized value.
using GivenQuantizers = std::map<std::string, GivenQuantizer>;

/// Removes quantizers of other frameworks from a float network, single ones or quantize-dequantize pairs. Throws
/// unsupported if other operators read codes, because the float values that our quantizers need are then missing.
GivenQuantizers take_out_quantizers(Model& model);

/// Gives the quantizers of a prepared network the codes, or else the ranges, of these quantizers. Observers do not
/// change them. From a magnitude, a range starts at 0 after a relu, and is symmetric otherwise. The reasons of the
/// quantizers state what was kept.
void keep_given_quantizers(Model& prepared, const GivenQuantizers& given, const PrepareOptions& options);

}  // namespace halfstep::quant
