// Quantizers with learned parameters (core/ir/metadata/learned_quantizer.h). A prepared network has fake_quantize in
// their places, with scales, zero points and weights derived from the learned parameters.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/model.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// All quantizers with this scale, in the order of the graph.
std::vector<ops::FakeQuantize> quantizers_of(const Graph& graph, const std::string& scale);

/// Converts a quantizer to one of this kind. Its learned parameters join the network without initial contents. `number`
/// is the softness of dsq, or the probability with which qdrop quantizes an element. Throws if several quantizers of
/// kind adaround read one weight.
void keep_quantizer(Model& model, const ops::FakeQuantize& quantizer, QuantizerKind kind, double number);

/// Kinds of the quantizers of a prepared network.
class QuantizerKinds {
 public:
  explicit QuantizerKinds(const Model& model);
  QuantizerKind of(const ops::FakeQuantize& quantizer) const;
  /// Name of the kind, or of an own quantizer.
  std::string name_of(const ops::FakeQuantize& quantizer) const;

 private:
  /// Kinds other than fixed and lsq, with the names of own quantizers.
  std::map<std::string, std::pair<QuantizerKind, std::string>> by_scale_;
};

/// Initializes learned parameters from the current scales, zero points and weights. `scale` selects quantizers with
/// this scale, "" selects all.
void start_quantizers(Model& model, const std::string& scale = "");

/// Recomputes scales, zero points and weights from learned parameters.
void settle_quantizers(Model& model);

/// Recomputes them and removes learned parameters. Quantizers with unevenly spaced levels stay in the metadata.
void close_quantizers(Model& model);

/// Replaces weights that quantizers compute (dorefa, adaround) by their raw weights, and removes these quantizers from
/// the metadata.
void restore_weights(Model& model);

/// Makes a quantizer with this scale an ordinary one. A weight that it computed becomes its raw weight.
void drop_quantizer(Model& model, const std::string& scale);

/// Whether any quantizer has unevenly spaced levels or is an own one, so that the network has no form on codes.
bool has_uneven_levels(const Model& model);

/// Replaces such quantizers by the operators that compute them.
void open_levels(Model& model);

/// Builds the form for differentiation: each quantizer of the metadata is computed in float from its learned
/// parameters.
void open_quantizers(Model& model);

}  // namespace halfstep::passes
