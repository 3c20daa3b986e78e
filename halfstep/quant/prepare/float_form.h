// Creates the float network into which quantizers are inserted.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halfstep/core/ir/model.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/quant/platform/platform.h"
#include "halfstep/quant/prepare/foreign_quantizers.h"

namespace halfstep::quant {

/// Finds quantizers of other frameworks, renames values to make room for derived names, and removes operations on which
/// no output depends. Values of the source model and the prepared network are matched by these names. After this,
/// layers end alike in both.
void clear_layers(Model& model);

/// The network into which `prepare` inserts quantizers. Removes the quantizers of other frameworks, rewrites layers to
/// forms with integer implementations, and folds the tails of layers. If the platform has insertion rules, the
/// operators that these rules name are kept.
Model float_form(const Model& model, const Platform& platform);

/// The float form of the source model of `prepared`. On a platform with insertion rules, layers that have another form
/// in `prepared` get that form (insertion_by_rules.h).
Model source_form(const Model& prepared);

/// Results of the rewrite of a network into its float form.
struct Rewritten {
  GivenQuantizers given;                   ///< quantizers of other frameworks that were removed
  std::vector<passes::FoldedNorm> folded;  ///< folded normalizations
  std::set<std::string> means;             ///< operators that compute a mean without keep_dims
};

/// Rewrites `model` into its float form.
Rewritten rewrite_floats(Model& model, const Platform& platform);

/// The scales of the weights that `given` quantizers had, in the float form of `model`: in each element of a weight,
/// its scale. Other tensors have no use. Empty if no weight had a quantizer with a known scale.
std::map<std::string, Tensor> weight_scales(const Model& model, const Platform& platform, const GivenQuantizers& given);

}  // namespace halfstep::quant
