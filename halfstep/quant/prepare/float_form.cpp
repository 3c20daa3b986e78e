#include "halfstep/quant/prepare/float_form.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "halfstep/core/arith/requantization.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/canonical/code_forms.h"
#include "halfstep/passes/canonical/computed_masks.h"
#include "halfstep/passes/canonical/layer_forms.h"
#include "halfstep/passes/canonical/layers/measure_forms.h"
#include "halfstep/passes/canonical/layers/norm_forms.h"
#include "halfstep/passes/canonical/layers/open_products.h"
#include "halfstep/passes/canonical/layers/open_recurrent.h"
#include "halfstep/passes/canonical/layers/power_forms.h"
#include "halfstep/passes/canonical/layers/prelu_forms.h"
#include "halfstep/passes/canonical/layers/spatial_forms.h"
#include "halfstep/passes/canonical/layers/unit_rows.h"
#include "halfstep/passes/canonical/lone_affines.h"
#include "halfstep/passes/canonical/open_attention.h"
#include "halfstep/passes/canonical/pool_forms.h"
#include "halfstep/passes/canonical/quantizer_forms.h"
#include "halfstep/passes/graph/dce.h"
#include "halfstep/passes/graph/separate_names.h"
#include "halfstep/passes/quantized/pad_channels.h"
#include "halfstep/passes/quantized/training_form.h"
#include "halfstep/quant/platform/legal_rules.h"
#include "halfstep/quant/prepare/code_plan.h"
#include "halfstep/quant/prepare/prepare.h"

namespace halfstep::quant {
namespace {

/// Importers declare a tensor of one element as a constant, because files do not mark learned values. As a weight or
/// bias it becomes a parameter.
void learn_single_numbers(Graph& graph) {
  for (Op op : graph.ops()) {
    if (op.info().quant.weight < 0) continue;
    for (const int port : {op.info().quant.weight, op.info().quant.bias}) {
      const Value tensor = port < 0 ? Value() : op.in(port);
      if (tensor && tensor.is_tensor() && count_elements(tensor.dims()) == 1) tensor.node()->role = Role::parameter;
    }
  }
}

/// Whether averages multiply by scales in float32, which only windows of known extents do.
bool has_float_averages(const Platform& platform) {
  return arith::traits(*arith::parse_requantization(platform.requantize)).keeps_scales;
}

/// Moves a quantizer from a layer's tail to the layer. The old result of the layer no longer exists.
void move_given(GivenQuantizers& given, const passes::FoldedTail& tail) {
  auto behind = given.extract(tail.result);
  given.erase(tail.layer);
  if (!behind) return;
  behind.key() = tail.layer;
  given.insert(std::move(behind));
}

/// Whether the platform supports the layer at its default bit widths.
bool takes_in_codes(const Platform& platform, Op layer) {
  if (passes::misses_channels(layer, platform.channels)) return false;
  Selected one = selected(layer);
  one.reads = {platform.activations.default_bits};
  one.gives = platform.activations.default_bits;
  return platform.objections(one, platform.weights.default_bits, platform.activations.default_bits).empty();
}

}  // namespace

void clear_layers(Model& model) {
  in_each_block(model.graph, [&] { passes::quantizer_forms(model); });
  passes::separate_names(model);
  passes::dce(model);
}

Rewritten rewrite_floats(Model& model, const Platform& platform) {
  if (!is_prepared(model)) clear_layers(model);
  Rewritten found;
  in_each_block(model.graph, [&] {
    found.given.merge(take_out_quantizers(model));
    passes::set_mode(model.graph, passes::Mode::evaluation);  // a file may contain the training network
    passes::open_attention(model);
    const bool has_rules = platform.insertion.has_value();  // rules by kinds of operators name the original layers
    if (!has_rules) {
      passes::open_recurrent(model);
      passes::open_products(model);
    }
    for (const auto& mean : model.graph.all<ops::ReduceMean>()) {
      if (!mean.keep_dims()) found.means.insert(mean.name());
    }
    passes::layer_forms(model);
    if (!has_rules) {
      if (!has_float_averages(platform)) passes::open_averages(model);
      passes::spatial_forms(model);
      passes::norm_forms(model);
      passes::prelu_forms(model);
      passes::unit_rows(model);
      passes::measure_forms(model);
      if (platform.requantize == "power_of_two") passes::separate_norm_factors(model);
    }
    const auto which = platform.insertion ? passes::Tails::norms_and_biases : passes::Tails::any;
    std::vector<passes::FoldedTail> tails = passes::fold_tails(model, which);
    if (!has_rules) {
      passes::activations_before_moves(model.graph, [&](Op op) {
        return platform.fuses(op.info().quant.activation, Trait::weighted) && has_factor(op, platform);
      });
    }
    if (!platform.insertion) {
      const auto takes = [&](Op layer) { return takes_in_codes(platform, layer); };
      std::ranges::move(passes::fold_lone_affines(model, takes), std::back_inserter(tails));
      passes::computed_masks(model);
      passes::code_forms(model);
      passes::power_forms(model);
    } else if (!platform.insertion->as_mqbench) {  // the range of masked values would leave no codes for the others
      passes::computed_masks(model);
      passes::mask_forms(model);
    }
    for (passes::FoldedTail& tail : tails) {
      move_given(found.given, tail);
      if (tail.norm) found.folded.push_back(std::move(*tail.norm));
    }
    learn_single_numbers(model.graph);
  });
  return found;
}

std::map<std::string, Tensor> weight_scales(const Model& model, const Platform& platform,
                                            const GivenQuantizers& given) {
  const auto has_scales = [](const auto& one) { return one.second.scales.defined(); };
  if (std::ranges::none_of(given, has_scales)) return {};
  Model form = clone(model);
  clear_layers(form);
  in_each_block(form.graph, [&] { write_scales(form, take_out_quantizers(form)); });
  rewrite_floats(form, platform);
  return std::move(form.tensors);
}

Model float_form(const Model& model, const Platform& platform) {
  Model form = clone(model);
  rewrite_floats(form, platform);
  return form;
}

Model source_form(const Model& prepared) {
  const Platform& platform = platform_of(prepared);
  Model form = float_form(prepared.source->network, platform);
  if (!platform.insertion) return form;
  std::map<std::string, const OpInfo*> kinds;
  for (const Op op : prepared.graph.all_ops()) kinds.emplace(op.name(), &op.info());
  in_each_block(form.graph, [&] {
    passes::spatial_forms(form, [&](Op op) {
      const auto found = kinds.find(op.name());
      return found != kinds.end() && found->second != &op.info();
    });
  });
  return form;
}

}  // namespace halfstep::quant
