// Float network -> prepared network: quantizers where the platform has them, calibrated.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/api/settings.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/tune/repair/repair.h"

namespace halfstep::api {

/// A prepared network and what is to be said of it.
struct QuantizeResult {
  Model model;
  quant::Audit audit;                         ///< conversion must be told to leave what stays in float
  quant::Platform platform;                   ///< resolved
  std::string preprocess = {};                ///< what is done to raw values, as JSON
  int64_t samples = 0;                        ///< that the observers saw
  std::vector<std::string> padded = {};       ///< layers that got channels of zeros
  std::vector<std::string> notes = {};        ///< see notes_on; ranges that may not hold
  int64_t normalizations = 0;                 ///< batch norms that joined the layers before them, once quantized
  std::string batch_norms = "folded";         ///< how training sees them
  std::optional<repair::Report> repair = {};  ///< what was tried to mend the network, and what came of it
  double difference = 0;  ///< that they and other rewriting make in a float layer, to the largest of its values
};

/// Prepares the float `network` for `platform`, calibrates it on the training part of `data` and repairs it as the
/// options say; one that is prepared already is only repaired, where they say so. Throws where a network is quantized
/// already, does not fit the samples, or has what the platform refuses (all of it: a Error).
QuantizeResult quantize(const Model& network, const Platform& platform, const Dataset& data,
                        const QuantizeOptions& options = {}, const Settings& settings = {});

/// Repairs a prepared, calibrated network by the methods of `options.repair` (docs/repair.md), on the samples that
/// `quantize` would calibrate on.
QuantizeResult repair(const Model& prepared, const Dataset& data, const QuantizeOptions& options = {},
                      const Settings& settings = {});

/// `network` itself where it is prepared, with this preprocessing over its own; a float one quantized for the platform.
/// Throws for an integer program, and for a float network without a platform.
Model prepared_of(const Model& network, const Dataset& data, const std::optional<Platform>& platform,
                  const QuantizeOptions& options = {}, const Settings& settings = {});

/// What `quantize` said of a prepared network, from the network alone.
QuantizeResult audit(const Model& prepared);

/// Other widths for some layers of a prepared network, which needs no samples: ranges stay as they were observed.
QuantizeResult change_bits(const Model& prepared, const std::vector<LayerBits>& bits);

}  // namespace halfstep::api
