#include "halfstep/api/own_quantizers.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "halfstep/api/errors.h"
#include "halfstep/api/inputs/model.h"
#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/text/print.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/quantized/learned_quantizers.h"
#include "halfstep/passes/quantized/own_quantizers.h"
#include "halfstep/quant/platform/selector.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/layer_bits.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::api {
namespace {

using ops::FakeQuantize;
using passes::QuantizedStep;

/// The observed ends of each channel, extended to 0, with dimensions that broadcast against the value.
Tensor widened_end(const Model& prepared, const FakeQuantize& quantizer, Value end, float sign) {
  Tensor ends = prepared.tensors.at(end.name()).clone();
  for (float& number : ends.data<float>()) number = sign * std::max(0.0F, sign * number);
  if (quantizer.axis() < 0) return ends;
  Dims dims(quantizer.x().dims().size(), 1);
  dims[static_cast<size_t>(quantizer.axis())] = ends.size();
  return ends.reshaped(std::move(dims));
}

QuantizerSite site_of(const Model& prepared, const FakeQuantize& quantizer, const std::string& layer) {
  const ops::ObserveRange observer = quant::observer_of(quantizer);
  return {passes::scale_tensor(quantizer).name(),
          quantizer.name(),
          layer,
          quantizer.x().type(),
          widened_end(prepared, quantizer, observer.low(), -1),
          widened_end(prepared, quantizer, observer.high(), 1)};
}

[[noreturn]] void object_to(const OwnQuantizer& own, Diagnostic objection) {
  fail(placed(std::move(objection), own.layer, ""));
}

/// Throws unless an output has this type, except for the extents of a type that broadcasts to it.
void require_output(const OwnQuantizer& own, const Graph& network, const std::string& name, const Type& expected,
                    bool broadcasts) {
  const Value output = passes::own_output(network, name);
  if (!output) return;
  const Type& type = output.type();
  const auto fits = [&](const Type& one) {
    if (one.dtype != expected.dtype || one.dims.size() > expected.dims.size()) return false;
    const size_t missing = expected.dims.size() - one.dims.size();
    for (size_t i = 0; i < one.dims.size(); ++i) {
      if (one.dims[i] != 1 && one.dims[i] != expected.dims[i + missing]) return false;
    }
    return true;
  };
  if (broadcasts ? fits(type) : type == expected) return;
  object_to(own, errors::own_quantizer_result(own.layer, own.name, name, to_string(type),
                                              (broadcasts ? "a type that broadcasts to " : "") + to_string(expected)));
}

void check_network(const OwnQuantizer& own, const Graph& network, const FakeQuantize& quantizer) {
  const Type type = quantizer.x().type();
  require_output(own, network, passes::kOwnResult, type, false);
  for (const Value argument : network.arguments())
    require_output(own, network, passes::own_derivative(argument.name()), type, true);
}

/// The text of a network whose tensors become arguments. Adds these tensors to the model.
std::string text_of(Model& model, const Model& network, const std::string& base, LearnedQuantizer& one) {
  Graph graph = network.graph;
  for (const Value tensor : graph.tensors()) {
    const Value stored =
        passes::add_tensor(model, base + "." + tensor.name(), network.tensors.at(tensor.name()), Role::constant);
    const Value argument = passes::add_argument(graph, stored.name(), tensor.type());
    one.tensors.emplace(argument.name(), stored.name());
    if (!tensor.unused()) tensor.replace_all_uses_with(argument);
    graph.erase_tensor(tensor.name());
  }
  return print(graph);
}

bool trains(const OwnQuantizer& own, const std::string& entry) {
  return std::ranges::any_of(own.networks, [&](const auto& network) {
    return network.second.graph.body().has_output(passes::own_derivative(entry));
  });
}

/// Throws unless the declared scale and zero point have one element, or one for each scale of the quantizer.
void check_declaration(const OwnQuantizer& own, const Graph& network, int64_t scales) {
  for (const char* name : {passes::kOwnScale, passes::kOwnZeroPoint}) {
    const Value declared = passes::own_output(network, name);
    const int64_t count = declared ? count_elements(declared.dims()) : 1;
    if (!declared || (declared.dtype() == DType::f32 && (count == 1 || count == scales))) continue;
    object_to(own, errors::own_quantizer_result(
                       own.layer, own.name, name, to_string(declared.type()),
                       scales == 1 ? "f32 with 1 element" : fmt::format("f32 with 1 or {} elements", scales)));
  }
}

void set_codes(const OwnQuantizer& own, const std::vector<FakeQuantize>& quantizers) {
  const auto [least, most] = *own.codes;
  const bool is_signed = quantizers.front().code_type().starts_with('i');
  if (least >= most || (least < 0) != is_signed)
    object_to(own, errors::own_quantizer_codes(own.layer, own.name, fmt::format("{}..{}", least, most),
                                               is_signed ? "negative and positive codes" : "codes from 0"));
  for (const FakeQuantize& quantizer : quantizers) quantizer.set_attributes({{"code_min", least}, {"code_max", most}});
  quant::observer_of(quantizers.front()).set_attributes({{"code_min", least}, {"code_max", most}});
}

/// Replaces the quantizers with the scale of `own`.
void put(Model& model, const OwnQuantizer& own) {
  const std::vector<FakeQuantize> quantizers = passes::quantizers_of(model.graph, own.scale);
  if (quantizers.empty()) fail(errors::own_quantizer_without_site(own.scale));
  const FakeQuantize& first = quantizers.front();
  passes::drop_quantizer(model, own.scale);
  quant::Platform fixed = quant::platform_of(model);
  fixed.weight_quantizer = fixed.activation_quantizer = QuantizerKind::fixed;
  const auto codes = own.codes ? static_cast<uint64_t>(own.codes->second - own.codes->first) : 0;
  quant::set_quantizer_bits(model, fixed, first,
                            own.codes ? static_cast<int>(std::bit_width(codes)) : quant::bits_of(first));
  if (own.codes) set_codes(own, quantizers);
  LearnedQuantizer one{.kind = QuantizerKind::own, .scale = own.scale, .zero_point = first.zero_point().name()};
  one.name = own.name;
  one.declares_scale = passes::own_output(own.networks.begin()->second.graph, passes::kOwnScale) != Value();
  const std::string base = own.scale.substr(0, own.scale.rfind('.'));
  for (const auto& [entry, contents] : own.state) {
    const Role role = trains(own, entry) ? Role::parameter : Role::state;
    one.tensors.emplace(entry, passes::add_tensor(model, base + "." + entry, contents.clone(), role).name());
  }
  for (const FakeQuantize& quantizer : quantizers) {
    const Model& network = own.networks.at(quantizer.name());
    check_network(own, network.graph, quantizer);
    check_declaration(own, network.graph, passes::scale_tensor(quantizer).type().dims[0]);
    one.networks.emplace(quantizer.name(), text_of(model, network, base, one));
  }
  model.metadata.learned_quantizers.push_back(std::move(one));
}

/// Throws if the platform does not allow the bit widths of a step.
void check_bits(const Model& model) {
  const auto steps = passes::quantized_steps(model);
  const quant::WidthRules rules(quant::platform_of(model), steps);
  std::vector<Diagnostic> objections;
  for (const QuantizedStep& step : steps) {
    for (Diagnostic& one : rules.objections(step, quant::bits_of)) objections.push_back(std::move(one));
  }
  fail_on_any(std::move(objections));
}

}  // namespace

std::vector<QuantizerSite> quantizer_sites(const Model& prepared, const std::string& selector, LayerPart part) {
  require_stage(prepared, Stage::prepared);
  const quant::LayerNames names(prepared);
  std::vector<QuantizerSite> sites;
  std::vector<Op> layers;
  for (const QuantizedStep& step : passes::quantized_steps(prepared)) {
    const Op layer = quant::layer_of(step);
    layers.push_back(layer);
    for (const FakeQuantize& quantizer : {step.weight, step.quantizer}) {
      if (!quantizer) continue;
      const std::string& tensor = quantizer.x().name();
      const bool is_kind = (part == LayerPart::weights) == (quantizer == step.weight);
      const bool fits = is_kind ? names.fits(selector, layer) || names.fits(selector, tensor) : selector == tensor;
      if (fits) sites.push_back(site_of(prepared, quantizer, layer.name()));
    }
  }
  if (sites.empty())
    fail(errors::selector_matches_nothing("quantizers", selector, quant::known_layers(selector, layers)));
  return sites;
}

QuantizeResult with_own_quantizers(const Model& prepared, const std::vector<OwnQuantizer>& own) {
  require_stage(prepared, Stage::prepared);
  Model model = prepared;
  for (const OwnQuantizer& one : own) put(model, one);
  check_bits(model);
  return audit(model);
}

}  // namespace halfstep::api
