// Platform-aware insertion of quantizers, and what can be changed afterwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/options.h"

namespace halfstep::quant {

/// The float `model` with batch norms folded (options.batch_norms says how training sees them) and quantizers where the
/// platform has them, by the traits that operators state. Quantizers have seen no data yet: calibrate before use.
/// Throws a Error with every place and what to do there for what cannot become integers; with `objections` they go
/// there, and the network is prepared with the platform's own widths where those that were asked for are not legal. The
/// resolved platform record travels in the Model's metadata.
Model prepare(const Model& model, const Platform& platform, const PrepareOptions& options = {},
              std::vector<Diagnostic>* objections = nullptr);

/// The network as the options want its weights: shared by layers that are one module, or duplicated for each of them.
Model own_weights(const Model& model, const PrepareOptions& options);

/// A float network with channels of zeros.
struct PadResult {
  Model model;
  std::vector<std::string> layers;  ///< convolutions that have more channels than they had
};

/// The float `model` with channels of zeros where convolutions on codes would miss the multiples that the platform asks
/// for (passes::pad_channels): inputs, outputs and numbers stay. Where zeros do not help, or nothing misses, it is as
/// it was.
PadResult pad_channels(const Model& model, const Platform& platform, const PrepareOptions& options = {});

/// Changes widths of the layers whose name matches `selector` (`*` and `?` as in file names) at any time after prepare;
/// throws when none matches, or the platform in the Model's metadata forbids it to any operator that reads or gives the
/// codes; then nothing is changed and every such operator named.
void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> activation_bits);

/// The same for every layer but those at the ends of the network, which keep their widths.
void set_inner_bits(Model& model, int weight_bits, int activation_bits);

/// The platform that prepare left in the Model, for as long as a copy of it lives; throws for a Model that is not
/// prepared.
const Platform& platform_of(const Model& model);
/// Whether its quantizers are those of a platform: one that somebody wrote into a network is an operator as any other.
bool is_prepared(const Model& model);

}  // namespace halfstep::quant
