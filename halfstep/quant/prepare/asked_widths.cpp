#include "halfstep/quant/prepare/asked_widths.h"

#include "halfstep/core/base/limits.h"

namespace halfstep::quant {

void check_widths(const PrepareOptions& options) {
  const auto require = [](const char* name, std::optional<int> bits) {
    if (bits) limits::kBits.require(name, *bits);
  };
  require("weights", options.weight_bits);
  require("features", options.feature_bits);
  require("edges", options.edge_bits);
}

}  // namespace halfstep::quant
