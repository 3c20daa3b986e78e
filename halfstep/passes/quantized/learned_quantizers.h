// Quantizers that learn in ways of their own (core/ir/metadata/learned_quantizer.h): a prepared network has
// fake_quantize in their places, with scales, zero points and weights that are made of what they learn.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/metadata/learned_quantizer.h"
#include "halfstep/core/ir/ops.h"

namespace halfstep::passes {

/// A quantizer becomes one of this kind: what it learns joins the network, not started yet. `number` is the softness of
/// dsq, and what qdrop keeps. Throws where several quantizers of kind adaround read one weight.
void keep_quantizer(Model& model, const ops::FakeQuantize& quantizer, QuantizerKind kind, double number);

/// The kinds of the quantizers of a prepared network.
class QuantizerKinds {
 public:
  explicit QuantizerKinds(const Model& model);
  QuantizerKind of(const ops::FakeQuantize& quantizer) const;

 private:
  std::map<std::string, QuantizerKind> by_scale_;  ///< beyond fixed and lsq
};

/// What quantizers learn starts from their scales, zero points and weights as they are. `scale`: of those that have
/// this scale; "": of all.
void start_quantizers(Model& model, const std::string& scale = "");

/// Scales, zero points and weights made anew of what quantizers have learned.
void settle_quantizers(Model& model);

/// The same for good: nothing that is learned is left. Those whose levels are not evenly spaced stay in the metadata.
void close_quantizers(Model& model);

/// Weights as they are without the quantizers that make others of them (dorefa, adaround), which the metadata forget.
void restore_weights(Model& model);

/// Whether quantizers have levels that are not evenly spaced, so that the network has no form on codes.
bool has_uneven_levels(const Model& model);

/// In the places of such quantizers, what computes them.
void open_levels(Model& model);

/// The form that gradients are taken of: every quantizer of the metadata computed of what it learns, in float.
void open_quantizers(Model& model);

}  // namespace halfstep::passes
