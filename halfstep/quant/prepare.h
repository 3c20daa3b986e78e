// Platform-aware insertion of quantizers, and what can be changed afterwards.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "halfstep/ir/model.h"
#include "halfstep/quant/platform.h"

namespace halfstep::quant {

/// Widths asked for; without one the platform's.
struct PrepareOptions {
  std::optional<int> weight_bits, feature_bits;
  std::optional<int> edge_bits;  ///< first and last weighted layer: weights, inputs, and the last one's output
};

/// The float `model` with batch norms folded for good and quantizers where the platform has them, by the traits that
/// operators state. Quantizers have seen no data yet: calibrate before use. Throws unsupported, naming the node and
/// what to do, for what cannot become integers. The resolved platform record travels in the Model's note "platform".
Model prepare(const Model& model, const Platform& platform, const PrepareOptions& options = {});

/// The network that `prepare` puts quantizers into: other frameworks' quantizers taken out, layers in the forms that
/// have codes, batch norms folded. It depends on nothing but `model`.
Model float_form(const Model& model);

/// Changes widths of the layers whose name matches `selector` (`*` and `?` as in file names) at any time after prepare;
/// throws when none matches, or the platform in the Model's note forbids it to any operator that reads or gives the
/// codes; then nothing is changed and every such operator named.
void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> feature_bits);

/// The record that prepare left in the Model; throws for a Model that is not prepared.
Platform platform_of(const Model& model);
/// Whether its quantizers are those of a platform: one that somebody wrote into a network is an operator as any other.
bool is_prepared(const Model& model);

}  // namespace halfstep::quant
