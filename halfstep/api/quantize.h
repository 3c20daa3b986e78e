// Quantization: from a float network to a prepared, calibrated network.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/tune/repair/repair.h"

namespace halfstep::api {

/// A prepared network and the report of its quantization.
struct QuantizeResult {
  Model model;
  quant::Audit audit;           ///< lists operators that stay in float, which conversion must be allowed to leave
  quant::Platform platform;     ///< resolved record
  std::string preprocess = {};  ///< preprocessing of raw values, as JSON
  int64_t samples = 0;          ///< number of calibration samples
  std::vector<std::string> padded = {};  ///< layers padded with channels of zeros
  std::vector<std::string> notes = {};   ///< warnings about the samples, and about ranges that may not hold
  int64_t normalizations = 0;            ///< number of batch norms folded into the preceding layers
  quant::BatchNorms batch_norms = quant::BatchNorms::folded;  ///< treatment of batch norms in training
  std::optional<repair::Report> repair = {};                  ///< corrections tried, and their results
  double difference = 0;  ///< largest difference in a float layer due to folding and rewriting, relative to the layer's
                          ///< largest value
};

/// Prepares the float `network` for `platform`, calibrates it on the training split of `data`, and repairs it as the
/// options request. A prepared network is only repaired, if requested. Throws if the network is already quantized or
/// does not match the samples. Also throws one Error with everything that the platform rejects.
QuantizeResult quantize(const Model& network, const Platform& platform, const Dataset& data,
                        const QuantizeOptions& options = {}, const Settings& settings = {});

/// Repairs a prepared, calibrated network with the methods of `options.repair` (docs/guides/correct_accuracy.md), on
/// the calibration samples of `quantize`. First sets `options.bits`. Throws bad_input for a network of another stage,
/// samples that do not match or are too few, an unknown method and bit widths that the platform lacks. Throws if a
/// layer computes NaN or infinities.
QuantizeResult repair(const Model& prepared, const Dataset& data, const QuantizeOptions& options = {},
                      const Settings& settings = {});

/// Returns a prepared `network` unchanged, except that the given preprocessing overrides its own. Quantizes a float
/// network for the platform. Throws for an integer program, and for a float network without a platform.
Model prepared_of(const Model& network, const Dataset& data, const std::optional<Platform>& platform,
                  const QuantizeOptions& options = {}, const Settings& settings = {});

/// Returns the report of `quantize`, derived from the prepared network alone. Members that need samples (`samples`,
/// `padded`, `notes`, `normalizations`, `repair`, `difference`) keep their defaults. Throws bad_input for a network of
/// another stage.
QuantizeResult audit(const Model& prepared);

/// Changes the bit widths of some layers of a prepared network. Needs no samples, because observed ranges are kept. The
/// report has the members of `audit`. Throws for a network of another stage, a pattern that matches no layer, and one
/// Error with every operator whose bit widths the platform lacks.
QuantizeResult change_bits(const Model& prepared, const std::vector<LayerBits>& bits);

}  // namespace halfstep::api
