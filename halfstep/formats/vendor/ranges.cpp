#include "halfstep/formats/vendor/ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/vendor/errors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/audit.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::formats::vendor {
namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(2) + "\n"; }

/// Returns one number, or a list with a number for each channel.
template <class Number>
Json by_channel(size_t channels, const Number& number) {
  if (channels == 1) return number(0);
  Json list = Json::array();
  for (size_t c = 0; c < channels; ++c) list.push_back(number(c));
  return list;
}

double largest_magnitude(const Range& range) {
  double largest = 0;
  for (size_t c = 0; c < range.scale.size(); ++c) largest = std::max({largest, -range.least(c), range.largest(c)});
  return largest;
}

bool moves_rows(Op op) {
  return op.is<ops::Reshape, ops::ReshapeBy, ops::Flatten, ops::Squeeze, ops::Unsqueeze, ops::Transpose>();
}

/// Whether the layer before `move` has a name derived from `move`, whose name the network has
/// (passes/canonical/layer_forms.h, fold_tails.h).
bool names_layer(Op move) {
  if (!moves_rows(move)) return false;
  Value rows = move.in(0);
  for (Op op = rows.producer(); moves_rows(op) || op.is<ops::FakeQuantize>(); op = rows.producer())
    rows = op.is<ops::FakeQuantize>() ? ops::FakeQuantize(op.node()).x() : op.in(0);
  return rows.producer().is<ops::Linear>() && rows.name().starts_with(move.name() + ".");
}

/// Returns the operation after `value` that names its layer, or null.
Op name_giver(Value value) {
  for (const auto& [reader, operand] : value.uses()) {
    if (names_layer(reader)) return reader;
    const bool goes_on = moves_rows(reader) || reader.is<ops::FakeQuantize>();
    if (const Op behind = goes_on ? name_giver(reader.out(0)) : Op()) return behind;
  }
  return {};
}

/// Returns the network's name for a layer or its result.
std::string name_in_network(Op layer) {
  const Op giver = name_giver(layer.out(0));
  return giver ? giver.name() : layer.name();
}

std::string tensor_of(const ops::FakeQuantize& quantizer) {
  const Op producer = quantizer.x().producer();
  return producer.is<ops::Linear>() ? name_in_network(producer) : quantizer.x().name();
}

/// Returns the ranges of activations, and of values that were reshaped to one.
std::vector<Range> moved_activations(const Ranges& ranges) {
  std::vector<Range> activations;
  std::ranges::copy_if(ranges.all, std::back_inserter(activations),
                       [](const Range& range) { return !range.is_weight; });
  activations.insert(activations.end(), ranges.behind_moves.begin(), ranges.behind_moves.end());
  return activations;
}

/// Adds the ranges of values before activation functions, or only of layer results with `layers_alone`.
std::vector<Range> before_activations(const Ranges& ranges, bool layers_alone) {
  std::vector<Range> activations = moved_activations(ranges);
  for (const Range& range : ranges.behind_activations) {
    if (layers_alone && !range.of_layer) continue;
    const auto own = std::ranges::find(activations, range.tensor, &Range::tensor);
    if (own == activations.end()) {
      activations.push_back(range);
    } else {
      *own = range;
    }
  }
  return activations;
}

/// Whether a layer with weights produces the value, perhaps through a quantizer.
bool layer_behind(Value value) {
  if (const auto quantizer = value.producer<ops::FakeQuantize>()) value = quantizer->x();
  return value.producer() && value.producer().info().quant.weight >= 0;
}

}  // namespace

int Range::bits() const { return static_cast<int>(std::bit_width(static_cast<uint64_t>(code_max - code_min))); }

Ranges ranges_of(const Model& prepared) {
  Ranges ranges;
  std::set<std::string> known;
  const auto quantizers = prepared.graph.all<ops::FakeQuantize>();
  const auto audited = quant::audit(prepared).quantizers;
  HS_CHECK(audited.size() == quantizers.size());
  for (size_t i = 0; i < quantizers.size(); ++i) {
    const quant::AuditedQuantizer& one = audited[i];
    Range range{.tensor = tensor_of(quantizers[i]), .is_weight = one.is_weight, .layer = one.layer};
    range.code_min = one.code_min;
    range.code_max = one.code_max;
    range.scale = one.scale;
    range.zero_point = one.zero_point;
    if (one.low[0] > one.high[0]) fail(errors::tensor_without_range(prepared.graph.name(), range.tensor));
    for (size_t c = 0; c < one.low.size(); ++c) range.observed = std::max({range.observed, -one.low[c], one.high[c]});
    known.insert(range.tensor);
    ranges.all.push_back(std::move(range));
  }
  const auto add_source = [&](size_t i, Value source, std::vector<Range>& to) {
    if (const auto quantizer = source.producer<ops::FakeQuantize>()) source = quantizer->x();
    Range range = ranges.all[i];
    range.tensor = source.name();
    to.push_back(std::move(range));
  };
  for (size_t i = 0; i < quantizers.size(); ++i) {
    const Op producer = quantizers[i].x().producer();
    if (!producer) continue;
    const bool moves = producer.is<ops::Flatten, ops::Reshape, ops::Resize>();
    if (moves && !names_layer(producer) && known.insert(producer.in(0).name()).second &&
        !producer.in(0).producer<ops::FakeQuantize>())
      add_source(i, producer.in(0), ranges.behind_moves);
    if (!producer.is<ops::Relu, ops::Relu6>()) continue;
    add_source(i, producer.in(0), ranges.behind_activations);
    ranges.behind_activations.back().of_layer = layer_behind(producer.in(0));
  }
  return ranges;
}

std::string tensorrt_ranges(const Model&, const Ranges& ranges) {
  Json blobs = Json::object();
  for (const Range& range : moved_activations(ranges))
    blobs[range.tensor] = range.scale[0] * static_cast<double>(std::max(-range.code_min, range.code_max));
  return text_of({{"tensorrt", {{"blob_range", blobs}}}});
}

std::string snpe_encodings(const Model&, const Ranges& ranges) {
  Json activations = Json::object();
  for (const Range& range : moved_activations(ranges))
    activations[range.tensor] = {{{"bitwidth", range.bits()}, {"min", range.least()}, {"max", range.largest()}}};
  return text_of({{"activation_encodings", activations}, {"param_encodings", Json::object()}});
}

std::string ppl_ranges(const Model&, const Ranges& ranges) {
  std::vector<Range> all = ranges.all;
  all.insert(all.end(), ranges.behind_moves.begin(), ranges.behind_moves.end());
  Json tensors = Json::object();
  for (const Range& range : all) {
    const size_t channels = range.scale.size();
    tensors[range.tensor] = {{"step", by_channel(channels, [&](size_t c) { return range.scale[c]; })},
                             {"zero_point", by_channel(channels, [&](size_t c) { return range.zero_point[c]; })},
                             {"min", by_channel(channels, [&](size_t c) { return range.least(c); })},
                             {"max", by_channel(channels, [&](size_t c) { return range.largest(c); })},
                             {"bit", range.bits()},
                             {"type", "biased"}};
  }
  return text_of({{"ppl", tensors}});
}

std::string pplcuda_ranges(const Model&, const Ranges& ranges) {
  std::string text;
  for (const Range& range : moved_activations(ranges))
    text += fmt::format("{}: {}\n", range.tensor, largest_magnitude(range));
  return text;
}

std::string vitis_scales(const Model& prepared, const Ranges& ranges) {
  Json tensors = Json::object();
  for (const Range& range : ranges.all) {
    tensors[range.tensor] = {{"scale", range.scale[0]}};
    const Op layer = range.is_weight ? prepared.graph.op(range.layer) : Op();
    const Value bias = layer && layer.info().quant.bias >= 0 ? layer.in(layer.info().quant.bias) : Value();
    if (!bias || !bias.is_tensor()) continue;
    // Biases are added to accumulators, so they have the accumulator's scale.
    const auto x = layer.in(0).producer<ops::FakeQuantize>();
    if (x) tensors[bias.name()] = {{"scale", range.scale[0] * quant::effective_scale(prepared, *x)}};
  }
  for (const Range& range : ranges.behind_moves) tensors[range.tensor] = {{"scale", range.scale[0]}};
  return text_of({{"vitis", tensors}});
}

std::string nnie_parameters(const Model& prepared, const Ranges& ranges) {
  std::map<std::string, float> observed;
  for (const Range& range : ranges.all) observed[range.tensor] = range.observed;
  Json layers = Json::object();
  for (const Op op : prepared.graph.ops()) {
    if (op.is<ops::Flatten, ops::Relu, ops::Prelu, ops::Sigmoid, ops::Reshape, ops::Softmax, ops::Clip,
              ops::GlobalAvgPool, ops::Mul, ops::FakeQuantize, ops::ObserveRange>())
      continue;
    if (op.is<ops::Conv2d>() && ops::Conv2d(op.node()).groups() > 1) continue;
    Json clips = Json::array();
    for (const Value input : passes::activation_inputs(op)) {
      if (const auto quantizer = input.producer<ops::FakeQuantize>())
        clips.push_back(observed.at(tensor_of(*quantizer)));
    }
    if (!clips.empty()) layers[op.is<ops::Linear>() ? name_in_network(op) : op.name()] = clips;
  }
  return text_of({{"nnie", {{"gfpq_param_dict", layers}}}});
}

std::string tengine_scales(const Model&, const Ranges& ranges) {
  std::string text;
  for (const Range& range : before_activations(ranges, true))
    text += fmt::format("{} {} {}\n", range.tensor, static_cast<double>(range.scale[0]), range.zero_point[0]);
  return text;
}

std::string stpu_ranges(const Model& prepared, const Ranges& ranges) {
  Json tensors = Json::object();
  const auto add = [&](const std::string& name, const Range& range) {
    tensors[name] = {{"min", range.least()}, {"max", range.largest()}};
  };
  for (const Range& range : before_activations(ranges, false)) add(range.tensor, range);
  for (const Range& range : ranges.all) {
    if (!range.is_weight) continue;
    const Op layer = prepared.graph.op(range.layer);
    const std::string name = layer.is<ops::Linear>() ? name_in_network(layer) : range.layer;
    add(name + "_weights", range);
    const Value bias = layer.info().quant.bias >= 0 ? layer.in(layer.info().quant.bias) : Value();
    const auto x = layer.in(0).producer<ops::FakeQuantize>();
    if (!bias || !x) continue;
    tensors[name + "_bias"] = {
        {"alpha", static_cast<double>(range.scale[0]) * static_cast<double>(quant::effective_scale(prepared, *x))},
        {"zero_point", 0}};
  }
  return text_of(tensors);
}

}  // namespace halfstep::formats::vendor
