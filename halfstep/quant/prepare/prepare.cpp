#include "halfstep/quant/prepare/prepare.h"

#include <algorithm>

#include "halfstep/core/base/limits.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/canonical/fold_tails.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/duplicate_weights.h"
#include "halfstep/passes/quantized/normalizations.h"
#include "halfstep/passes/quantized/pad_channels.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/float_form.h"
#include "halfstep/quant/prepare/foreign_quantizers.h"
#include "halfstep/quant/prepare/preparation.h"
#include "halfstep/quant/prepare/quantized_regions.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

void require_float(const Model& model) {
  for (Op op : model.graph.all_ops()) {
    if (op.info().codes) fail(placed(errors::network_quantized_already(op.where(), op.info().name), op.name(), ""));
  }
}

Requested requested_of(const Model& model, const Platform& platform, const PrepareOptions& options,
                       const Rewritten& rewritten) {
  if (!options.also.empty() && !platform.insertion)
    fail(errors::also_without_insertion_rules(options.also[0], platform.name));
  Requested requested{
      staying_in_float(model, options.skip_layers), asked_layers(model, options.also, "also"), {}, rewritten.means};
  for (const passes::FoldedNorm& one : rewritten.folded) requested.normalized.insert(one.layer);
  return requested;
}

/// Whether both quantizers have the same type and range of codes. Their scales and zero points depend on observed
/// values.
bool are_alike(const ops::FakeQuantize& a, const ops::FakeQuantize& b) {
  return a.code_type() == b.code_type() && a.code_min() == b.code_min() && a.code_max() == b.code_max();
}

/// The result of a loop has the scale of its state. Branches have different scales, so their result has its own scale.
void share_results(Model& model, const FirstLastScales& at_edges) {
  in_each_block(model.graph, [&] {
    for (const Op op : model.graph.ops()) {
      if (op.info().flow == Flow::none || op.info().flow == Flow::branch) continue;
      const std::vector<Value> given = op.regions()[0]->outputs();
      for (const Value result : op.results()) {
        const auto inner =
            given[FlowParts(op).conditions + static_cast<size_t>(result.port())].producer<ops::FakeQuantize>();
        const auto outer = result.unused() ? Op() : result.uses()[0].first;
        if (!inner || !outer.is<ops::FakeQuantize>()) continue;
        const ops::FakeQuantize quantizer(outer.node());
        const bool is_alone = observer_of(quantizer).x().size() == 1;
        if (!is_alone || !are_alike(quantizer, *inner) || at_edges.contains(passes::scale_tensor(quantizer).name()))
          continue;
        take_codes_of(model, quantizer, *inner);
      }
    }
  });
}

/// Returns the objections. `given` is the network before rewriting.
std::vector<Diagnostic> prepare_blocks(Model& model, const Graph& given, const Platform& platform,
                                       const PrepareOptions& options, const Rewritten& rewritten) {
  require_float(model);
  Found found;
  found.objections = objections_to_markers(model.graph);
  const Requested requested = requested_of(model, platform, options, rewritten);
  in_each_block(model.graph, [&] { prepare_block(model, platform, options, requested, found); });
  if (!found.has_weights) refuse_without_layer(given, found.layers_in_float);
  share_results(model, found.first_last_scales);
  model.metadata.float_operators = std::move(found.in_float);
  model.metadata.quantizer_reasons = std::move(found.quantizers);
  model.metadata.deviations = std::move(found.deviations);
  model.metadata.first_last_scales = std::move(found.first_last_scales);
  return std::move(found.objections);
}

/// `report` takes the objections, before the network is finished.
template <class Report>
Model prepared_for(const Model& model, const Platform& platform, const PrepareOptions& options, Report report) {
  require_in_range(options);
  Model prepared = clone(model);
  const Rewritten rewritten = rewrite_floats(prepared, platform);
  std::vector<Diagnostic> found = prepare_blocks(prepared, model.graph, platform, options, rewritten);
  if (options.batch_norm != BatchNorms::folded) {
    if (rewritten.folded.empty()) fail(errors::no_batch_norm_to_train(model.graph.name()));
    const QuantizerKind kind = platform.weight_quantizer.value_or(QuantizerKind::fixed);
    if (kind == QuantizerKind::dorefa || kind == QuantizerKind::adaround)
      fail(errors::quantizer_kind_rewrites_weights(platform.name, traits_of(kind).name));
    passes::keep_normalizations(prepared, rewritten.folded, options.batch_norm == BatchNorms::live);
  }
  report(std::move(found));
  prepared.metadata.platform = PlatformRecord(platform.text);
  prepared.metadata.stage = stage_of_graph(prepared.graph, true);
  keep_given_quantizers(prepared, rewritten.given, weight_scales(model, platform, rewritten.given), options);
  return prepared;
}

}  // namespace

Model prepare(const Model& model, const Platform& platform, const PrepareOptions& options) {
  return prepared_for(model, platform, options, fail_on_any);
}

Model prepare_with_objections(const Model& model, const Platform& platform, const PrepareOptions& options,
                              std::vector<Diagnostic>& objections) {
  return prepared_for(model, platform, options, [&](std::vector<Diagnostic> found) {
    objections.insert(objections.end(), found.begin(), found.end());
  });
}

Model own_weights(const Model& model, const PrepareOptions& options) {
  Model own = model;
  if (options.shared_weights == SharedWeights::duplicate) passes::duplicate_weights(own);
  return own;
}

PadResult pad_channels(const Model& model, const Platform& platform, const PrepareOptions& options) {
  const Model form = float_form(model, platform);
  const AskedLayers in_float = staying_in_float(form, options.skip_layers);
  const CodePlan plan = plan_codes(form, platform, in_float);
  std::set<std::string> layers;
  for (Op op : form.graph.ops()) {
    const bool misses = !plan.is_float(op) && passes::misses_channels(op, platform.channels);
    if (misses && passes::can_pad_channels(op, platform.channels)) layers.insert(op.name());
  }
  PadResult padded{clone(model), {}};
  clear_layers(padded.model);  // creates the same names as float_form
  padded.layers = passes::pad_channels(padded.model, platform.channels, layers);
  return padded;
}

bool is_prepared(const Model& model) { return model.metadata.stage == Stage::prepared; }

const Platform& platform_of(const Model& model) {
  if (!is_prepared(model)) fail(errors::network_not_prepared());
  return parsed(model.metadata.platform);
}

}  // namespace halfstep::quant
