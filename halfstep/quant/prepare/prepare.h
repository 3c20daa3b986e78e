// Inserts quantizers for a platform, and changes bit widths afterwards.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/options.h"

namespace halfstep::quant {

/// Folds batch norms of the float `model` (options.batch_norms selects their form in training) and inserts the
/// quantizers of the platform. The traits of operators decide where. Quantizers have no ranges yet: calibrate before
/// use.
///
/// Throws an Error that lists every operation that cannot become integers, with remedies. The Model's metadata contains
/// the resolved platform record.
Model prepare(const Model& model, const Platform& platform, const PrepareOptions& options = {});

/// Prepares, and appends to `objections` the diagnostics of the Error that `prepare` throws. The platform's defaults
/// replace illegal bit widths.
Model prepare_with_objections(const Model& model, const Platform& platform, const PrepareOptions& options,
                              std::vector<Diagnostic>& objections);

/// A copy in which layers that are one module share weights, or have their own copies, as the options select.
Model own_weights(const Model& model, const PrepareOptions& options);

/// A float network padded with channels of zeros.
struct PadResult {
  Model model;
  std::vector<std::string> layers;  ///< convolutions with added channels
};

/// Adds channels of zeros to convolutions whose channel counts are not the multiples that the platform needs
/// (passes::pad_channels). Inputs, outputs and results do not change. Returns an unchanged copy if nothing is missing,
/// or if zeros do not help.
PadResult pad_channels(const Model& model, const Platform& platform, const PrepareOptions& options = {});

/// Changes the bit widths of the layers that match `selector` (`*` and `?` as in file names). Can be called at any time
/// after prepare. Throws if no layer matches. Also throws if the platform in the Model's metadata does not allow the
/// bit widths for an operator that reads or computes the codes. The Error lists every such operator, and the network is
/// unchanged.
void set_bits(Model& model, const std::string& selector, std::optional<int> weight_bits,
              std::optional<int> activation_bits);

/// Changes the bit widths of all layers except the first and last ones.
void set_inner_bits(Model& model, int weight_bits, int activation_bits);

/// The platform of a prepared Model. The reference is valid as long as a copy of the Model exists. Throws if the Model
/// is not prepared.
const Platform& platform_of(const Model& model);
/// Whether the quantizers come from `prepare`. A quantizer that is part of a source model is an ordinary operator.
bool is_prepared(const Model& model);

}  // namespace halfstep::quant
