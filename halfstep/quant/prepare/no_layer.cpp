#include "halfstep/quant/prepare/no_layer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

/// Layers and operators to list in a message. Further ones are only counted.
constexpr size_t kMost = 8;
constexpr const char* kTwoActivations = "a product of two activations has no weights";

struct Way {
  std::string_view op;
  const char* remedy;
};

constexpr const char* kGates =
    "export it without that, or write its gates with linear layers (Gemm or MatMul), Sigmoid and Tanh";
constexpr const char* kExtents = "export the network with fixed spatial extents";

/// Remedies for operators without integer implementations. Preparation decomposes most of them, so these concern their
/// other forms, and targets whose rules name the original layers.
constexpr std::array kWays = {
    Way{"gru", kGates},
    Way{"lstm", kGates},
    Way{"rnn", kGates},
    Way{"einsum", "write it as a MatMul"},
    Way{"matmul_broadcast", "write it as a MatMul with one stored matrix on the right, or as a convolution"},
    Way{"conv", kExtents},
    Way{"conv_transpose", kExtents},
};

const Way* find_way(std::string_view op) {
  const auto way = std::ranges::find(kWays, op, &Way::op);
  return way == kWays.end() ? nullptr : &*way;
}

/// Whether the operator multiplies by a weight, a matrix or another activation. Also true for operators that can be
/// written in this way.
bool multiplies(Op op) {
  const QuantInfo& quant = op.info().quant;
  const auto is_matrix = [](Value value) {
    return value && value.is_tensor() && is_float(value.dtype()) &&
           std::ranges::count_if(value.dims(), [](int64_t extent) { return extent > 1; }) > 1;
  };
  const bool has_matrix = std::ranges::any_of(op.operands(), is_matrix);
  const Value result = op.results().empty() ? Value() : op.results().front();
  const bool could = find_way(op.info().name) != nullptr && result && is_float(result.dtype());
  return could || quant.weight >= 0 || quant.accumulates == Accumulation::contraction ||
         (has_matrix && !passes::computes_codes(op) && !passes::moves_codes(op));
}

std::string remedy_for(const LayerInFloat& layer) {
  const std::string& reason = layer.reason;
  if (was_asked_for(reason)) return "remove it from --skip-layers";
  if (reason == kTwoActivations) return "quantize it together with the layers around it";
  if (reason.ends_with(" is computed")) return "store it in the file as a constant";
  const Way* way = find_way(layer.op);
  if (way != nullptr && has_no_form(reason)) return way->remedy;
  return "write it as a layer with an integer implementation (docs/arithmetic.md, section 5)";
}

/// The operation of `given` with the name of the layer, or else at its location. Null if neither exists.
Op origin_of(const Graph& given, const LayerInFloat& layer) {
  Op origin;
  for (const Op op : given.all_ops()) {
    if (op.name() == layer.name) return op;
    const bool is_there = op.location().file == layer.location.file && op.location().line == layer.location.line;
    if (!origin && is_there && op.location().line > 0) origin = op;
  }
  return origin;
}

Diagnostic objection_to(const Graph& given, LayerInFloat layer) {
  if (const Op origin = origin_of(given, layer); origin && origin.name() != layer.name) {
    layer.op = origin.info().name;
    layer.name = origin.name();
    layer.where = origin.where();
  }
  const size_t end = layer.reason.find("; ");
  const std::string reason = layer.reason.substr(0, end);
  return placed(errors::layer_stays_in_float(
                    layer.where, reason.starts_with(layer.op) ? reason : fmt::format("{}: {}", layer.op, reason),
                    end == std::string::npos ? remedy_for(layer) : layer.reason.substr(end + 2)),
                layer.name, "");
}

/// For example " among relu, add": the operators of a network that multiplies nothing.
std::string operators_of(const Graph& given) {
  std::set<std::string> all;
  for (const Op op : given.all_ops()) all.insert(op.info().name);
  std::vector<std::string> shown(all.begin(), std::next(all.begin(), std::min<ptrdiff_t>(std::ssize(all), kMost)));
  if (all.size() > kMost) shown.push_back(fmt::format("{} more", all.size() - kMost));
  return all.empty() ? "" : fmt::format(" among {}", fmt::join(shown, ", "));
}

}  // namespace

std::vector<LayerInFloat> layers_in_float(const Graph& graph, const CodePlan& plan) {
  std::vector<LayerInFloat> layers;
  for (const Op op : graph.ops()) {
    if (!multiplies(op)) continue;
    const auto reason = plan.in_float.find(op.node());
    layers.push_back({op.info().name, op.name(), op.where(), op.location(),
                      reason == plan.in_float.end() ? kTwoActivations : reason->second});
  }
  return layers;
}

void refuse_without_layer(const Graph& given, const std::vector<LayerInFloat>& layers) {
  std::vector<LayerInFloat> own;
  std::ranges::copy_if(layers, std::back_inserter(own),
                       [](const LayerInFloat& layer) { return !is_of_another(layer.reason); });
  if (own.empty()) own = layers;
  if (own.empty()) fail(errors::network_without_operator(given.name(), operators_of(given)));
  const std::string more =
      own.size() > kMost ? fmt::format(" (the first {} of {} layers follow)", kMost, own.size()) : "";
  own.resize(std::min(own.size(), kMost));
  std::vector<Diagnostic> objections = {errors::network_without_layer(given.name(), more)};
  for (const LayerInFloat& layer : own) objections.push_back(objection_to(given, layer));
  throw Error(std::move(objections));
}

}  // namespace halfstep::quant
