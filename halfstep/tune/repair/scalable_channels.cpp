#include "halfstep/tune/repair/scalable_channels.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>

#include "halfstep/core/ir/ops.h"
#include "halfstep/core/ir/region.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/tune/repair/layers.h"

namespace halfstep::repair {
namespace {

/// The channel axis of a value, and the set of values with the same channels.
struct Place {
  size_t tie;  ///< values with the same tie share factors
  size_t axis = 1;
  int64_t run = 1;  ///< number of consecutive elements on the axis that form one channel
};

class Ties {
 public:
  explicit Ties(const Model& prepared) : graph_(prepared.graph) {
    for (const Layer& layer : layers_of(prepared)) layers_.emplace(layer.op.node(), layer);
  }

  std::vector<ChannelGroup> run() {
    for (const Op op : graph_.ops()) visit(op);
    for (const Value output : graph_.outputs()) pin(output);
    std::map<size_t, ChannelGroup> groups;
    std::vector<size_t> order;
    for (const auto& [tie, giver] : givers_) {
      const size_t root = root_of(tie);
      if (!groups.contains(root)) order.push_back(root);
      groups[root].givers.push_back(giver);
    }
    for (const auto& [tie, reader] : readers_) {
      if (const auto found = groups.find(root_of(tie)); found != groups.end()) found->second.readers.push_back(reader);
    }
    std::vector<ChannelGroup> result;
    for (const size_t root : order) {
      ChannelGroup& group = groups.at(root);
      group.channels = channels_[root];
      if (!pinned_[root] && !group.readers.empty()) result.push_back(std::move(group));
    }
    return result;
  }

 private:
  size_t root_of(size_t tie) const {
    while (parent_[tie] != tie) tie = parent_[tie];
    return tie;
  }

  Place& fresh(Value value, size_t axis) {
    parent_.push_back(parent_.size());
    channels_.push_back(axis < value.dims().size() ? value.dims()[axis] : 0);
    pinned_.push_back(false);
    return places_.insert_or_assign(value.node(), Place{parent_.size() - 1, axis}).first->second;
  }

  /// The place of a value. A value without one gets a place that must not be scaled: arguments, tensors and results of
  /// unknown operators.
  Place& place_of(Value value) {
    if (const auto found = places_.find(value.node()); found != places_.end()) return found->second;
    Place& place = fresh(value, 1);
    pinned_[place.tie] = true;
    return place;
  }

  void pin(Value value) { pinned_[root_of(place_of(value).tie)] = true; }

  void visit(Op op) {
    if (passes::has_trait(op, Trait::observer)) return;
    if (op.is<ops::FakeQuantize>() && op.in(0).is_tensor()) return;
    if (op.info().quant.weight >= 0) return visit_layer(op);
    if (op.is<ops::LayerNorm>()) return visit_norm(op);
    if (const auto place = kept_place(op)) {
      places_.insert_or_assign(op.out(0).node(), *place);
      return;
    }
    for (const Value operand : op.operands()) {
      if (operand && !operand.is_tensor()) pin(operand);
    }
  }

  void visit_layer(Op op) {
    const auto found = layers_.find(op.node());
    const Value x = op.in(0);
    if (found == layers_.end() || !gives_rows(op, found->second)) return pin(x);
    const Layer& layer = found->second;
    const Place place = place_of(x);
    if (place.axis != 1)
      pin(x);
    else
      readers_.emplace_back(place.tie,
                            Reader{op.name(), layer.weight.name(), groups_of(op), place.run, in_float(x).name(), 1});
    const Place& out = fresh(op.out(0), 1);
    givers_.emplace_back(out.tie, Giver{op.name(), layer.weight.name(), layer.bias ? layer.bias.name() : ""});
  }

  /// Whether the weight is [outputs, inputs / groups, ...], and the bias, if present, belongs to this layer alone.
  bool gives_rows(Op op, const Layer& layer) const {
    const QuantInfo& quant = op.info().quant;
    const bool has_bias = quant.bias >= 0 && op.in(quant.bias);
    const Dims& x = op.in(0).dims();
    return quant.weight_axis == 0 && layer.weight.dims().size() >= 2 && x.size() >= 2 &&
           x[1] == layer.weight.dims()[1] * groups_of(op) && has_bias == static_cast<bool>(layer.bias);
  }

  static int64_t groups_of(Op op) {
    const auto found = op.attributes().find("groups");
    return found == op.attributes().end() ? 1 : std::get<int64_t>(found->second);
  }

  /// The scale of a norm over the last axis determines the magnitude of its output channels.
  void visit_norm(Op op) {
    const ops::LayerNorm norm(op.node());
    pin(norm.x());
    const size_t last = norm.x().dims().size() - 1;
    const auto is_own = [](Value tensor) { return tensor.is_tensor() && tensor.uses().size() == 1; };
    if (norm.scale().dims().size() != 1 || !is_own(norm.scale()) || (norm.bias() && !is_own(norm.bias()))) return;
    const Place& out = fresh(norm.out(), last);
    givers_.emplace_back(out.tie, Giver{op.name(), norm.scale().name(), norm.bias() ? norm.bias().name() : ""});
  }

  /// The place of a result if the operator preserves a positive factor, nothing for other operators.
  std::optional<Place> kept_place(Op op) {
    const std::vector<Value> operands = passes::activation_inputs(op);
    if (operands.empty() || op.results().size() != 1) return std::nullopt;
    const Value x = operands[0], out = op.out(0);
    if (op.is<ops::FakeQuantize, ops::Relu, ops::LeakyRelu, ops::Identity, ops::MaxPool2d, ops::AvgPool2d,
              ops::GlobalAvgPool>())
      return place_of(x);
    if (op.is<ops::Add>()) return added(op);
    if (op.is<ops::Reshape, ops::Flatten>()) return reshaped(place_of(x), x, out);
    if (op.is<ops::ReduceMean>()) return reduced(op, place_of(x));
    return std::nullopt;
  }

  std::optional<Place> added(Op op) {
    const Value a = op.in(0), b = op.in(1);
    if (a.is_tensor() || b.is_tensor() || a.dims() != b.dims()) return std::nullopt;
    const Place first = place_of(a), second = place_of(b);
    if (first.axis != second.axis || first.run != second.run) return std::nullopt;
    const size_t kept = root_of(first.tie), gone = root_of(second.tie);
    parent_[gone] = kept;
    pinned_[kept] = pinned_[kept] || pinned_[gone];
    return first;
  }

  static std::optional<Place> reshaped(Place place, Value x, Value out) {
    const Dims &before = x.dims(), &after = out.dims();
    const bool is_last = place.axis + 1 == before.size();
    if (is_last && !after.empty() && after.back() == before.back()) {
      place.axis = after.size() - 1;
      return place;
    }
    if (place.axis != 1 || before.size() < 2 || after.size() < 2) return std::nullopt;
    if (after[0] != before[0] || before[1] <= 0 || after[1] <= 0) return std::nullopt;
    if (after[1] == before[1]) return place;
    if (after.size() != 2 || after[1] % before[1] != 0) return std::nullopt;
    place.run *= after[1] / before[1];
    return place;
  }

  static std::optional<Place> reduced(Op op, Place place) {
    const ops::ReduceMean mean(op.node());
    const auto rank = static_cast<int64_t>(mean.x().dims().size());
    for (const int64_t axis : mean.axes()) {
      if ((axis < 0 ? axis + rank : axis) <= static_cast<int64_t>(place.axis)) return std::nullopt;
    }
    return mean.axes().empty() ? std::nullopt : std::optional(place);
  }

  const Graph& graph_;
  std::map<const detail::OpNode*, Layer> layers_;
  std::map<const detail::ValueNode*, Place> places_;
  std::vector<size_t> parent_;
  std::vector<int64_t> channels_;
  std::vector<bool> pinned_;
  std::vector<std::pair<size_t, Giver>> givers_;
  std::vector<std::pair<size_t, Reader>> readers_;
};

/// Calls function(element, channel) for a reader's weight.
template <class Function>
void for_each_read(const Dims& dims, const Reader& reader, Function function) {
  const int64_t run = count_elements(dims) / std::max<int64_t>(1, dims[0] * dims[1]);
  for (int64_t o = 0; o < dims[0]; ++o) {
    for (int64_t i = 0; i < dims[1]; ++i) {
      const auto channel = static_cast<size_t>(reader.channel_of(o, dims[0], i, dims[1]));
      for (int64_t k = 0; k < run; ++k) function(static_cast<size_t>((o * dims[1] + i) * run + k), channel);
    }
  }
}

}  // namespace

std::vector<ChannelGroup> channel_groups(const Model& prepared) { return Ties(prepared).run(); }

std::vector<ChannelGroup> channel_groups_of_all(const Model& prepared) {
  Model blocks = clone(prepared);
  std::vector<ChannelGroup> groups;
  in_each_block(blocks.graph, [&] { std::ranges::move(channel_groups(blocks), std::back_inserter(groups)); });
  return groups;
}

void scale_channels(Model& model, const ChannelGroup& group, const std::vector<float>& factors) {
  for (const Giver& giver : group.givers) {
    for (const std::string& name : {giver.weight, giver.bias}) {
      if (name.empty()) continue;
      const auto elements = own_floats(model, name);
      const size_t run = elements.size() / factors.size();
      for (size_t i = 0; i < elements.size(); ++i) elements[i] *= factors[i / run];
    }
  }
  for (const Reader& reader : group.readers) {
    const auto elements = own_floats(model, reader.weight);
    for_each_read(model.tensors.at(reader.weight).dims(), reader,
                  [&](size_t i, size_t channel) { elements[i] /= factors[channel]; });
  }
}

std::vector<double> given_magnitudes(const Model& model, const ChannelGroup& group) {
  std::vector<double> largest(static_cast<size_t>(group.channels));
  for (const Giver& giver : group.givers) {
    const auto elements = std::as_const(model.tensors.at(giver.weight)).data<float>();
    const size_t run = elements.size() / largest.size();
    for (size_t i = 0; i < elements.size(); ++i)
      largest[i / run] = std::max(largest[i / run], std::fabs(double{elements[i]}));
  }
  return largest;
}

std::vector<double> read_magnitudes(const Model& model, const ChannelGroup& group) {
  std::vector<double> largest(static_cast<size_t>(group.channels));
  for (const Reader& reader : group.readers) {
    const Tensor& weight = model.tensors.at(reader.weight);
    const auto elements = weight.data<float>();
    for_each_read(weight.dims(), reader, [&](size_t i, size_t channel) {
      largest[channel] = std::max(largest[channel], std::fabs(double{elements[i]}));
    });
  }
  return largest;
}

}  // namespace halfstep::repair
