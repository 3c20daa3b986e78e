#include "halfstep/quant/prepare.h"

#include <algorithm>
#include <map>
#include <set>

#include "halfstep/base/elements.h"
#include "halfstep/base/status.h"
#include "halfstep/passes/fold_batch_norm.h"
#include "halfstep/passes/layer_forms.h"
#include "halfstep/passes/separate_names.h"
#include "halfstep/passes/training_form.h"
#include "halfstep/passes/traits.h"
#include "halfstep/quant/foreign_quantizers.h"
#include "halfstep/quant/quantizer.h"

namespace halfstep::quant {
namespace {

const QuantInfo& quant_of(Op op) { return op.info().quant; }

using passes::accumulates;
using passes::feature_inputs;
using passes::moves_codes;

/// Decides where quantizers go and how wide they are; the graph changes only in `insert`.
class Preparation {
 public:
  Preparation(Model& model, const Platform& platform, const PrepareOptions& options)
      : model_(model),
        platform_(platform),
        weight_bits_(options.weight_bits.value_or(platform.weights.default_bits)),
        feature_bits_(options.feature_bits.value_or(platform.features.default_bits)),
        edge_bits_(options.edge_bits.value_or(platform.edge_bits)),
        edge_weight_bits_(options.edge_bits.value_or(std::min(platform.edge_bits, widest(platform.weights)))) {}

  void run() {
    require_float();
    for (Op op : model_.graph.ops()) plan(op);
    if (weighted_.empty())
      fail("network '{}': found no operator with weights that can have codes, expected at least one",
           model_.graph.name());
    set_widths();
    share_scales();
    check();
    insert();
  }

 private:
  void require_float() const {
    for (Op op : model_.graph.ops()) {
      if (passes::decides_codes(op))
        fail("{}: {}: the network is quantized already, expected its float form", op.where(), op.info().name);
    }
  }

  static int widest(const BitRule& rule) {
    return static_cast<int>(*std::max_element(rule.legal.begin(), rule.legal.end()));
  }

  void plan(Op op) {
    if (fused_.contains(op.node())) return;
    if (stays_float(op)) {
      float_.insert(op.node());
      return;
    }
    for (const Value input : feature_inputs(op)) {
      if (!input.producer() || is_real(input)) add_point(input);
    }
    if (moves_codes(op)) return;
    if (accumulates(op)) {
      if (quant_of(op).weight >= 0) weighted_.push_back(op);
      const Op activation = fusable_activation(op);
      if (activation) fused_.insert(activation.node());
      owner_[add_point((activation ? activation : op).out(0))] = op;
    } else {
      owner_[add_point(op.out(0))] = op;
    }
  }

  bool is_real(Value value) const { return value.producer() && float_.contains(value.producer().node()); }

  /// Whether `op` computes on reals: it has no form on codes that takes these operands, or nothing but reals comes to
  /// it.
  bool stays_float(Op op) const {
    const auto inputs = feature_inputs(op);
    if (!(moves_codes(op) || accumulates(op) || quant_of(op).lookup) || inputs.empty()) return true;
    const auto no_feature = [](Value v) { return v.is_tensor() || v.dtype() != DType::f32; };
    if (std::ranges::any_of(inputs, no_feature)) return true;
    if (quant_of(op).weight >= 0) return !op.in(quant_of(op).weight).is_tensor();
    const bool broadcasts = inputs.size() == 2 && inputs[0].dims() != inputs[1].dims();
    if (broadcasts && quant_of(op).integer == ops::IntegerAdd::record().name) return true;
    return fills_with_a_number(op) || std::ranges::all_of(inputs, [&](Value v) { return is_real(v); });
  }

  /// 0 has a code whatever the scale; another number may lie between two.
  bool fills_with_a_number(Op op) const {
    const Value fill = quant_of(op).fill < 0 ? Value() : op.in(quant_of(op).fill);
    return fill && !(fill.is_tensor() && element(model_.tensors.at(fill.name()), 0) == 0);
  }

  Op fusable_activation(Op op) const {
    if (!op.out(0).has_one_use()) return {};
    const Op user = op.out(0).uses().front().first;
    const bool fuses =
        quant_of(user).trait == "fuses_into_producer" && platform_.fuses(quant_of(user).activation, quant_of(op).trait);
    return fuses ? user : Op();
  }

  size_t add_point(Value value) {
    if (const auto found = point_of_.find(value.node()); found != point_of_.end()) return found->second;
    point_of_[value.node()] = points_.size();
    points_.push_back({{value}, value.name(), -1, feature_bits_});
    return points_.size() - 1;
  }

  /// The point whose codes `value` has, seen through operators that move codes; several for a concat.
  std::vector<size_t> points_behind(Value value) const {
    if (const auto found = point_of_.find(value.node()); found != point_of_.end()) return {found->second};
    std::vector<size_t> points;
    for (const Value input : feature_inputs(value.producer())) {
      const auto behind = points_behind(input);
      points.insert(points.end(), behind.begin(), behind.end());
    }
    return points;
  }

  void set_widths() {
    for (size_t i = 0; i < points_.size(); ++i) {
      if (!points_[i].values[0].producer()) points_[i].bits = edge_bits_;
    }
    for (const Value input : feature_inputs(weighted_.back())) {
      for (const size_t point : points_behind(input)) points_[point].bits = edge_bits_;
    }
    for (auto& [point, op] : owner_) {
      if (op == weighted_.back()) points_[point].bits = edge_bits_;
    }
  }

  int weight_bits_of(Op op) const {
    return op == weighted_.front() || op == weighted_.back() ? edge_weight_bits_ : weight_bits_;
  }

  static bool lists(const std::vector<std::string>& names, Op op) {
    return std::find(names.begin(), names.end(), op.info().name) != names.end();
  }

  /// Values of operators that need one scale become one point, as wide as the widest.
  void share_scales() {
    for (Op op : model_.graph.ops()) {
      if (float_.contains(op.node())) continue;
      const bool keeps = lists(platform_.keep_scales, op);
      if (!keeps && !lists(platform_.share_scales, op) && quant_of(op).trait != "same_scale") continue;
      std::set<size_t> group;
      for (const Value input : feature_inputs(op)) {
        for (const size_t point : points_behind(input)) group.insert(point);
      }
      const Op activation = fusable_activation(op);
      if (keeps) group.insert(point_of_.at((activation ? activation : op).out(0).node()));
      merge(group, keeps || moves_codes(op) ? op.name() : op.name() + ".inputs");
    }
  }

  void merge(const std::set<size_t>& group, const std::string& name) {
    const size_t first = *group.begin();
    for (const size_t other : group) {
      if (other == first) continue;
      for (const Value value : points_[other].values) {
        points_[first].values.push_back(value);
        point_of_[value.node()] = first;
      }
      points_[first].bits = std::max(points_[first].bits, points_[other].bits);
      points_[other].values.clear();
      points_[first].name = name;
    }
  }

  void check() const {
    for (Op op : model_.graph.ops()) {
      if (fused_.contains(op.node()) || float_.contains(op.node())) continue;
      const int weight_bits = quant_of(op).weight >= 0 ? weight_bits_of(op) : 0;
      for (const Value value : feature_inputs(op)) check_width(op, weight_bits, value);
      const Op activation = fusable_activation(op);
      check_width(op, weight_bits, (accumulates(op) && activation ? activation : op).out(0));
      check_channels(op);
    }
  }

  void check_width(Op op, int weight_bits, Value value) const {
    for (const size_t point : points_behind(value))
      platform_.require_legal(op.info(), op.where(), weight_bits, points_[point].bits);
  }

  void check_channels(Op op) const {
    const int weight_port = quant_of(op).weight;
    if (weight_port < 0 || op.in(weight_port).dims().size() != 4) return;
    const int64_t in = op.in(0).dims()[1];
    const int64_t out = op.in(weight_port).dims()[0];
    const int64_t multiple = platform_.channel_multiple;
    if (in > platform_.channel_above && (in % multiple != 0 || out % multiple != 0))
      unsupported("{}: {} needs channels in multiples of {} above {}: found {} in and {} out; widen the layer",
                  op.where(), platform_.name, multiple, platform_.channel_above, in, out);
  }

  void insert() {
    for (const QuantizerPlace& point : points_) {
      if (!point.values.empty()) insert_quantizer(model_, platform_, point);
    }
    std::map<std::string, int> uses;
    for (Op op : weighted_) {
      const Value weight = op.in(quant_of(op).weight);
      learn_single_numbers(op);
      const int use = ++uses[weight.name()];
      const std::string name = use == 1 ? weight.name() : weight.name() + "." + std::to_string(use);
      insert_quantizer(model_, platform_, {{weight}, name, quant_of(op).weight_axis, weight_bits_of(op)}, op);
    }
  }

  /// A tensor of one element is a constant to importers, whose files do not say what is learned; as a weight or a bias
  /// it is.
  static void learn_single_numbers(Op op) {
    for (const int port : {quant_of(op).weight, quant_of(op).bias}) {
      const Value tensor = port < 0 ? Value() : op.in(port);
      if (tensor && tensor.is_tensor() && count_elements(tensor.dims()) == 1) tensor.node()->role = Role::parameter;
    }
  }

  Model& model_;
  const Platform& platform_;
  int weight_bits_, feature_bits_, edge_bits_, edge_weight_bits_;
  std::vector<QuantizerPlace> points_;
  std::map<const detail::ValueNode*, size_t> point_of_;
  std::map<size_t, Op> owner_;
  std::vector<Op> weighted_;
  std::set<const detail::OpNode*> fused_;
  std::set<const detail::OpNode*> float_;  ///< operators that stay in float
};

}  // namespace

Model prepare(const Model& model, const Platform& platform, const PrepareOptions& options) {
  Model prepared = clone(model);
  if (!is_prepared(model)) passes::separate_names(prepared.graph);
  const LearnedMagnitudes learned = take_out_quantizers(prepared);
  passes::set_mode(prepared.graph, passes::Mode::evaluation);  // a file may hold the program that trained
  passes::layer_forms(prepared);
  passes::fold_batch_norm(prepared);
  Preparation(prepared, platform, options).run();
  keep_learned_ranges(prepared, learned);
  prepared.notes["platform"] = platform.text;
  return prepared;
}

bool is_prepared(const Model& model) { return !model.graph.all<ops::FakeQuantize>().empty(); }

Platform platform_of(const Model& model) {
  const auto note = model.notes.find("platform");
  if (note == model.notes.end() || !is_prepared(model)) fail("the network is not prepared; run quantize first");
  return parse_platform(note->second, "note 'platform' of the network");
}

}  // namespace halfstep::quant
