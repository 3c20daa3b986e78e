#include "halfstep/tune/repair/part.h"

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/quantized_steps.h"

namespace halfstep::repair {
namespace {

constexpr int64_t kMostLayers = 8;  ///< in a stretch that is learned together

using ValueSet = std::set<const detail::ValueNode*>;

/// Operators that compute activations, in order, with their inputs and results.
class Stretch {
 public:
  explicit Stretch(const Model& prepared) : graph_(prepared.graph) {
    for (const Op op : graph_.ops()) {
      if (passes::has_trait(op, Trait::observer)) continue;
      if (is_stored(op))
        for (const Value result : op.results()) stored_.insert(result.node());
      else
        add(op);
    }
    for (const Value output : graph_.outputs()) last_read_[output.node()] = ops_.size();
  }

  const std::vector<Op>& ops() const { return ops_; }

  /// Values that exist before position `at` and are read from there on.
  std::vector<Value> live(size_t at) const {
    std::vector<Value> found;
    for (const auto& [value, made] : made_) {
      const auto read = last_read_.find(value.node());
      if (made <= at && read != last_read_.end() && read->second >= at) found.push_back(value);
    }
    return found;
  }

  /// Whether all values that cross position `at` have codes, so that none is cut off from its quantizer.
  bool can_cut(size_t at) const {
    if (at == 0 || at == ops_.size()) return true;
    return std::ranges::all_of(live(at), [&](Value value) { return has_codes(value); });
  }

  Block block(size_t begin, size_t end) const {
    Block block{{},
                {ops_.begin() + static_cast<std::ptrdiff_t>(begin), ops_.begin() + static_cast<std::ptrdiff_t>(end)},
                {},
                {}};
    for (const auto& [value, made] : made_) {
      const auto reads = reads_.find(value.node());
      if (reads == reads_.end() && last_read_.find(value.node()) == last_read_.end()) continue;
      const bool inside = made > begin && made <= end;
      if (inside && last_read_.at(value.node()) >= end) block.outputs.push_back(value);
      const auto is_in = [&](size_t at) { return at >= begin && at < end; };
      if (made <= begin && reads != reads_.end() && std::ranges::any_of(reads->second, is_in))
        block.inputs.push_back(value);
    }
    std::vector<std::string> layers;
    for (const Op op : block.ops) {
      if (op.info().quant.weight >= 0) layers.push_back(op.name());
    }
    if (!layers.empty()) block.name = layers.size() == 1 ? layers[0] : layers.front() + " to " + layers.back();
    return block;
  }

  int64_t layers(size_t begin, size_t end) const {
    return std::count_if(ops_.begin() + static_cast<std::ptrdiff_t>(begin),
                         ops_.begin() + static_cast<std::ptrdiff_t>(end),
                         [](Op op) { return op.info().quant.weight >= 0; });
  }

 private:
  /// Whether the operation reads only tensors, like the quantizer of a weight.
  bool is_stored(Op op) const {
    const auto operands = op.operands();
    return !operands.empty() && std::ranges::all_of(operands, [&](Value value) {
      return !value || value.is_tensor() || stored_.contains(value.node());
    });
  }

  void add(Op op) {
    for (const Value operand : op.operands()) {
      if (!operand || operand.is_tensor() || stored_.contains(operand.node())) continue;
      if (!operand.producer() && !reads_.contains(operand.node())) made_.emplace_back(operand, 0);
      reads_[operand.node()].push_back(ops_.size());
      last_read_[operand.node()] = ops_.size();
    }
    ops_.push_back(op);
    for (const Value result : op.results()) made_.emplace_back(result, ops_.size());
  }

  bool has_codes(Value value) const {
    const Op producer = passes::unmoved(value).producer();
    return producer.is<ops::FakeQuantize>();
  }

  const Graph& graph_;
  std::vector<Op> ops_;
  ValueSet stored_;
  std::vector<std::pair<Value, size_t>> made_;  ///< with the position after the producing operator, 0 for arguments
  std::map<const detail::ValueNode*, std::vector<size_t>> reads_;
  std::map<const detail::ValueNode*, size_t> last_read_;
};

/// Positions to cut at, including both ends. Each stretch has a layer with weights.
std::vector<size_t> cuts(const Stretch& stretch, size_t begin, size_t end, Grain grain) {
  std::vector<size_t> places = {begin};
  for (size_t at = begin + 1; at < end; ++at) {
    if (!stretch.can_cut(at) || (grain == Grain::blocks && stretch.live(at).size() != 1)) continue;
    if (stretch.layers(places.back(), at) > 0 && stretch.layers(at, end) > 0) places.push_back(at);
  }
  places.push_back(end);
  return places;
}

class Partition {
 public:
  explicit Partition(const Model& prepared) : model_(prepared) {}

  Model run(const Block& block) {
    part_.graph.set_name(model_.graph.name());
    for (const Value input : block.inputs) values_[input.node()] = part_.graph.add_argument(input.name(), input.type());
    for (const Op op : block.ops) copy(op);
    observe_weights();
    std::vector<Value> outputs;
    std::vector<std::string> names;
    for (const Value output : block.outputs) {
      outputs.push_back(mapped(output));
      names.push_back(output.name());
    }
    part_.graph.set_outputs(std::move(outputs), std::move(names));
    return std::move(part_);
  }

 private:
  Value mapped(Value value) {
    if (!value) return {};
    const auto known = values_.find(value.node());
    if (known != values_.end()) return known->second;
    if (!value.is_tensor()) {
      copy(value.producer());  // computed from tensors only
      return values_.at(value.node());
    }
    part_.tensors[value.name()] = model_.tensors.at(value.name());
    return values_[value.node()] = part_.graph.add_tensor(value.name(), value.type(), value.role());
  }

  void copy(Op op) {
    OpSpec spec{&op.info(), {}, op.attributes(), op.name(), op.location()};
    for (const Value operand : op.operands()) spec.operands.push_back(mapped(operand));
    const Op made = part_.graph.insert(std::move(spec));
    for (const Value result : op.results()) values_[result.node()] = made.out(result.port());
  }

  void observe_weights() {
    for (const Op op : model_.graph.ops()) {
      if (!passes::has_trait(op, Trait::observer)) continue;
      const ops::ObserveRange observer(op.node());
      const bool of_tensors = std::ranges::all_of(observer.x(), &Value::is_tensor);
      if (of_tensors && values_.contains(observer.scale().node())) copy(op);
    }
  }

  const Model& model_;
  Model part_;
  std::map<const detail::ValueNode*, Value> values_;
};

}  // namespace

std::vector<Block> blocks_of(const Model& prepared, Grain grain) {
  const Stretch stretch(prepared);
  const std::vector<size_t> places = cuts(stretch, 0, stretch.ops().size(), grain);
  std::vector<Block> blocks;
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    const bool is_long = stretch.layers(places[i], places[i + 1]) > kMostLayers;
    const std::vector<size_t> inner =
        is_long ? cuts(stretch, places[i], places[i + 1], Grain::layers) : std::vector{places[i], places[i + 1]};
    for (size_t k = 0; k + 1 < inner.size(); ++k) blocks.push_back(stretch.block(inner[k], inner[k + 1]));
  }
  return blocks;
}

Block behind(const Model& prepared, const std::vector<Block>& blocks, size_t block) {
  size_t at = 0;
  for (size_t i = 0; i <= block; ++i) at += blocks[i].ops.size();
  const Stretch stretch(prepared);
  return stretch.block(at, stretch.ops().size());
}

Model part_of(const Model& prepared, const Block& block) { return Partition(prepared).run(block); }

}  // namespace halfstep::repair
