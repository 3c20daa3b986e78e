#include "halfstep/quant/prepare/insertion_by_rules.h"

#include <algorithm>
#include <set>
#include <utility>

#include "halfstep/passes/canonical/layers/spatial_forms.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/transposed_again.h"

namespace halfstep::quant {
namespace {

using passes::RewrittenLayer;

/// Whether the value has a quantizer, or operators only move one that has.
bool has_codes(const Insertion& insertion, Value value) {
  while (!insertion.has(value) && value.producer() && passes::moves_codes(value.producer()))
    value = value.producer().in(0);
  return insertion.has(value);
}

/// Whether the layer has all quantizers that its other form needs.
bool has_quantizers(const Insertion& insertion, Op layer) {
  const bool has_weight =
      layer.info().quant.weight < 0 || std::ranges::find(insertion.weighted, layer) != insertion.weighted.end();
  return has_weight && !layer.operands().empty() && has_codes(insertion, layer.in(0));
}

/// Moves the quantizers of a layer to its other form.
void move_quantizers(Insertion& insertion, const RewrittenLayer& rewritten) {
  for (Insertion::Activation& one : insertion.activations) {
    if (one.value.node() != rewritten.result) continue;
    one.value = rewritten.layer.out(0);
    insertion.quantized.erase(rewritten.result);
    insertion.quantized.insert(one.value.node());
  }
  for (Op& op : insertion.weighted) {
    if (op.node() == rewritten.old) op = rewritten.layer;
  }
  if (insertion.edges.erase(rewritten.old) > 0) insertion.edges.insert(rewritten.layer.node());
}

/// Gives the layers with quantizers the form that has codes (spatial_forms.h), except those that `keeps` selects.
Insertion with_spatial_forms(Model& model, Insertion insertion, const std::function<bool(Op layer)>& keeps) {
  std::set<const detail::OpNode*> wanted;
  for (const Op op : model.graph.ops()) {
    if (has_quantizers(insertion, op) && !keeps(op)) wanted.insert(op.node());
  }
  const auto is_wanted = [&](Op layer) { return wanted.contains(layer.node()); };
  for (const RewrittenLayer& one : passes::spatial_forms(model, is_wanted)) move_quantizers(insertion, one);
  return insertion;
}

}  // namespace

Insertion insertion_by_rules(Model& model, const Platform& platform, const PrepareOptions& options,
                             const Requested& requested, Found& found) {
  const Requests requests = {requested.in_float, requested.also, requested.normalized, requested.means};
  InsertionRules rules = *platform.insertion;
  // Inputs and outputs of a region are inside the network, so the rules for network ends do not apply.
  if (model.graph.body().parent()) rules.inputs = rules.outputs = Ends::asked;
  Insertion insertion = insertion_of(model.graph, rules, requests);
  found.deviations.merge(
      deviations_from_mqbench(model.graph, rules, requests, insertion, has_first_last_bits(platform, options)));
  if (!platform.no_integers.empty() || platform.weight_zero_points == "affine") return insertion;
  return with_spatial_forms(model, std::move(insertion), [&](Op layer) {
    const bool is_normalized = options.batch_norm != BatchNorms::folded && requested.normalized.contains(layer.name());
    return is_normalized || !passes::returns_again(layer);
  });
}

}  // namespace halfstep::quant
