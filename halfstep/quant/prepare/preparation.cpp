#include "halfstep/quant/prepare/preparation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/unpooling.h"
#include "halfstep/core/ir/flow.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/canonical/lone_affines.h"
#include "halfstep/passes/canonical/within_reach.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"
#include "halfstep/passes/quantized/pad_channels.h"
#include "halfstep/passes/quantized/quantized_steps.h"
#include "halfstep/quant/prepare/accumulators.h"
#include "halfstep/quant/prepare/errors.h"
#include "halfstep/quant/prepare/insertion_by_rules.h"
#include "halfstep/quant/prepare/quantizer.h"

namespace halfstep::quant {
namespace {

const QuantInfo& quant_of(Op op) { return op.info().quant; }

using passes::activation_inputs;
using passes::moves_codes;

using PointSet = std::set<size_t>;

const std::string kFloat = "keep the layer in float (--skip-layers NAME)";

/// Decides the positions and bit widths of quantizers in the graph's body, or in the region in its place. Only `insert`
/// changes the graph.
class Preparation {
 public:
  Preparation(Model& model, const Platform& platform, const PrepareOptions& options, const Requested& requested,
              const std::optional<Insertion>& insertion, Found& found)
      : model_(model),
        platform_(platform),
        requested_(requested),
        insertion_(insertion),
        found_(found),
        indices_(model.graph),
        is_region_(model.graph.body().parent()),
        weight_bits_(options.weight_bits.value_or(platform.weights.default_bits)),
        activation_bits_(options.activation_bits.value_or(platform.activations.default_bits)),
        edge_bits_(options.first_last_bits.value_or(platform.first_last_bits.value_or(activation_bits_))),
        edge_weight_bits_(options.first_last_bits.value_or(
            platform.first_last_bits ? std::min(*platform.first_last_bits, widest(platform.weights)) : weight_bits_)),
        has_edges_(has_first_last_bits(platform, options)) {}

  /// Prepares the network even if there are objections.
  void run() {
    if (insertion_) {
      place_by_rules(*insertion_);
    } else {
      plan_ = plan_codes(model_, platform_, requested_.in_float);
      for (Op op : model_.graph.ops()) place(op);
    }
    found_.has_weights = found_.has_weights || !weighted_.empty() || (platform_.insertion && !points_.empty());
    if (!found_.has_weights)
      std::ranges::move(layers_in_float(model_.graph, plan_), std::back_inserter(found_.layers_in_float));
    std::ranges::copy_if(weighted_, std::back_inserter(layers_), [](Op op) { return !passes::scales_channels(op); });
    set_bit_widths();
    share_scales();
    share_states();
    check();
    insert();
  }

 private:
  static int widest(const BitRule& rule) {
    return static_cast<int>(*std::max_element(rule.legal.begin(), rule.legal.end()));
  }

  void place_by_rules(const Insertion& insertion) {
    plan_ = plan_codes(model_, platform_, requested_.in_float, &insertion);
    weighted_ = insertion.weighted;
    for (const Insertion::Activation& activation : insertion.activations) {
      QuantizerPlace& place = points_[add_point(activation.value)];
      place.is_unsigned = activation.is_unsigned;
      if (activation.is_first_or_last && !is_region_) set_first_or_last(place);
      found_.quantizers.emplace(activation.value.name(), activation.reason);
    }
    if (!is_region_) edges_ = insertion.edges;
    for (Op op : model_.graph.ops()) {
      if (!is_coded(op)) continue;
      if (const Op activation = plan_.activation_of(op)) fused_.insert(activation.node());
      if (!moves_codes(op)) continue;
      const PointSet& moved = behind_.at(activation_inputs(op)[0].node());
      include_fill(op, moved);
      behind_.try_emplace(plan_.result_of(op).node(), moved);
    }
  }

  bool is_coded(Op op) const { return !plan_.is_float(op) && !fused_.contains(op.node()); }

  void place(Op op) {
    if (!is_coded(op)) return;
    for (const Value input : activation_inputs(op)) {
      if (!input.producer() || plan_.is_real(input)) add_point(input);
    }
    if (passes::ranks_codes(op)) return;
    if (moves_codes(op)) {
      PointSet& behind = behind_[op.out(0).node()];
      for (const Value input : activation_inputs(op)) behind.merge(PointSet(behind_.at(input.node())));
      include_fill(op, behind);
      return;
    }
    if (quant_of(op).weight >= 0) weighted_.push_back(op);
    if (const Op activation = plan_.activation_of(op)) fused_.insert(activation.node());
    owner_[add_point(plan_.result_of(op))] = op;
  }

  /// The range after a pad includes the fill value. If the fill is not 0, the observer reads the padded result, so that
  /// it counts each fill value. After a mask the observer reads the masked result.
  void include_fill(Op op, const PointSet& behind) {
    const Value fill = quant_of(op).fill < 0 ? Value() : op.in(quant_of(op).fill);
    const bool masks = quant_of(op).index >= 0;
    if (op.is<ops::Pad>() && std::ranges::none_of(ops::Pad(op.node()).pads(), [](int64_t n) { return n > 0; })) return;
    if (!fill) return;
    const double number = element(model_.tensors.at(fill.name()), 0);
    if (!masks && !std::isfinite(number)) return;
    for (const size_t point : behind) points_[point].also_seen.push_back(masks || number != 0 ? op.out(0) : fill);
  }

  size_t add_point(Value value) {
    const auto [found, is_new] = behind_.try_emplace(value.node(), PointSet{points_.size()});
    if (!is_new) return *found->second.begin();
    points_.push_back({{value}, value.name(), -1, activation_bits_});
    merged_into_.push_back(points_.size() - 1);
    return points_.size() - 1;
  }

  /// The points whose codes `value` has, through operators that move codes. A concat has several.
  PointSet points_behind(Value value) const {
    PointSet points;
    for (size_t point : behind_.at(value.node())) {
      while (merged_into_[point] != point) point = merged_into_[point];
      points.insert(point);
    }
    return points;
  }

  void set_first_or_last(QuantizerPlace& place) const {
    place.bits = edge_bits_;
    place.is_first_or_last = has_edges_;
  }

  /// Sets the bit widths of the first and last layers with weights: their inputs, and the results of the last ones.
  void set_bit_widths() {
    if (platform_.insertion || is_region_) return;
    for (QuantizerPlace& place : points_) {
      const Value value = place.values[0];
      if (!value.producer() && !value.is_tensor()) set_first_or_last(place);
    }
    const auto count = static_cast<int64_t>(layers_.size());
    for (int64_t i = 0; i < count; ++i) {
      const bool is_last = i >= count - platform_.last_layers;
      if (i >= platform_.first_layers && !is_last) continue;
      const Op op = layers_[static_cast<size_t>(i)];
      edges_.insert(op.node());
      set_edges(activation_inputs(op));
      if (is_last) set_edges({plan_.result_of(op)});
    }
  }

  void set_edges(const std::vector<Value>& values) {
    for (const Value value : values) {
      for (const size_t point : points_behind(value)) set_first_or_last(points_[point]);
    }
  }

  /// Channel scaling with one scale for all channels needs the largest bit width. With a scale for each channel, every
  /// factor is exact.
  int weight_bits_of(Op op) const {
    if (!platform_.insertion && !platform_.per_channel && passes::scales_channels(op)) return widest(platform_.weights);
    return edges_.contains(op.node()) ? edge_weight_bits_ : weight_bits_;
  }

  static bool lists(const std::vector<std::string>& names, Op op) {
    return std::find(names.begin(), names.end(), op.info().name) != names.end();
  }

  /// Merges the points of operators that need one scale. The merged point has the largest bit width.
  void share_scales() {
    for (Op op : model_.graph.ops()) {
      if (!is_coded(op)) continue;
      const bool keeps = lists(platform_.keep_scales, op) && !passes::ranks_codes(op);
      if (!keeps && !lists(platform_.share_scales, op) && quant_of(op).trait != Trait::same_scale) continue;
      PointSet group;
      for (const Value input : activation_inputs(op)) group.merge(points_behind(input));
      if (keeps) group.merge(points_behind(plan_.result_of(op)));
      merge(group, keeps || moves_codes(op) ? op.name() : op.name() + ".inputs");
    }
  }

  /// A state of a loop has the same scale at the start of an iteration as at the end of the previous one.
  void share_states() {
    const Op holder = model_.graph.body().parent();
    if (!holder) return;
    const FlowParts parts(holder);
    for (size_t i = 0; i < parts.states; ++i) {
      const Value state = model_.graph.arguments()[i], next = model_.graph.outputs()[parts.conditions + i];
      if (!behind_.contains(state.node()) || !behind_.contains(next.node())) continue;
      PointSet group = points_behind(state);
      group.merge(points_behind(next));
      merge(group, state.name());
    }
  }

  void merge(const PointSet& group, const std::string& name) {
    const size_t first = *group.begin();
    for (const size_t other : group) {
      if (other == first) continue;
      QuantizerPlace &kept = points_[first], &gone = points_[other];
      kept.values.insert(kept.values.end(), gone.values.begin(), gone.values.end());
      kept.also_seen.insert(kept.also_seen.end(), gone.also_seen.begin(), gone.also_seen.end());
      kept.bits = std::max(kept.bits, gone.bits);
      kept.is_first_or_last = kept.is_first_or_last || gone.is_first_or_last;
      kept.name = name;
      gone.values.clear();
      merged_into_[other] = first;
    }
  }

  void check() {
    for (Op op : model_.graph.ops()) {
      if (!is_coded(op)) continue;
      const int weight_bits = quant_of(op).weight >= 0 ? weight_bits_of(op) : 0;
      for (const Value value : activation_inputs(op)) check_width(op, weight_bits, value);
      if (!passes::ranks_codes(op)) check_width(op, weight_bits, plan_.result_of(op));
      check_accumulator(op);
      check_finite(op);
      check_places(op);
      check_channels(op);
    }
    for (const auto& marker : model_.graph.all<ops::OutputNop>()) check_marker(marker);
  }

  void check_marker(Op marker) {
    const Op before = marker.in(0).producer();
    const auto reason = before ? plan_.in_float.find(before.node()) : plan_.in_float.end();
    if (reason == plan_.in_float.end() || passes::moves_codes(before)) return;
    object(marker, errors::marker_behind_float_layer(before.info().name, before.name(), reason->second));
  }

  /// Adds an objection to `op`, without duplicates.
  void object(Op op, Diagnostic objection) {
    objection.layer = op.name();
    objection.where = op.where();
    auto& all = found_.objections;
    if (std::ranges::find(all, objection) == all.end()) all.push_back(std::move(objection));
  }

  Selected selection(Op op) const {
    Selected one = selected(op);
    one.is_first = !is_region_ && !layers_.empty() && op == layers_.front();
    one.is_last = !is_region_ && !layers_.empty() && op == layers_.back();
    for (const Value input : activation_inputs(op)) {
      for (const size_t point : points_behind(input)) one.reads.insert(points_[point].bits);
    }
    if (passes::ranks_codes(op)) return one;
    for (const size_t point : points_behind(plan_.result_of(op))) one.gives = points_[point].bits;
    return one;
  }

  void check_width(Op op, int weight_bits, Value value) {
    for (const size_t point : points_behind(value)) {
      for (Diagnostic& one : platform_.objections(selection(op), weight_bits, points_[point].bits)) {
        one.remedy = one.expected.empty()
                         ? kFloat
                         : "use one of these (--weight-bits, --activation-bits, --first-last-bits), or " + kFloat;
        object(op, std::move(one));
      }
    }
  }

  /// Whether no element is NaN or infinite: x - x is 0 only for finite numbers. Uses 16 sums in parallel, which
  /// compilers keep in vectors.
  static bool are_finite(std::span<const float> elements) {
    std::array<float, 16> sums{};
    size_t i = 0;
    for (; i + sums.size() <= elements.size(); i += sums.size()) {
      for (size_t lane = 0; lane < sums.size(); ++lane) sums[lane] += elements[i + lane] - elements[i + lane];
    }
    for (; i < elements.size(); ++i) sums[0] += elements[i] - elements[i];
    return std::ranges::all_of(sums, [](float sum) { return sum == 0; });
  }

  /// Folding a normalization with negative variance produces NaN, which has no code.
  void check_finite(Op op) {
    for (const int port : {quant_of(op).weight, quant_of(op).factor, quant_of(op).bias}) {
      const Value value = port < 0 ? Value() : op.in(port);
      if (!value) continue;
      const auto elements = std::as_const(model_.tensors.at(value.name())).data<float>();
      if (are_finite(elements)) continue;
      const auto wrong = std::ranges::count_if(elements, [](float element) { return !std::isfinite(element); });
      object(op, errors::elements_not_finite(value.name(), wrong, op.info().name));
    }
  }

  /// Throws if no zero point keeps the accumulator of an operator without weights in bounds. Conversion proves the
  /// final bound.
  void check_accumulator(Op op) {
    if (!passes::accumulates(op) || quant_of(op).weight >= 0) return;
    std::vector<int64_t> farthest;
    for (const Value value : activation_inputs(op))
      farthest.push_back(int64_t{1} << (points_[*points_behind(value).begin()].bits - 1));
    collect(found_.objections, op.name(), op.where(),
            [&] { accumulator_proof(op, *arith::parse_requantization(platform_.requantize), farthest); });
  }

  /// An index outside of the result of max_unpool would only be found when the network runs.
  void check_places(Op op) {
    if (!op.is<ops::MaxUnpool>()) return;
    const ops::MaxUnpool unpool(op.node());
    const Value indices = unpool.indices();
    if (!indices.is_tensor() || !unpool.out().type().is_static()) return;
    const Unpooling unpooling(indices.dims(), unpool.kernel(), unpool.stride(), unpool.pad(), unpool.out().dims());
    const auto stored = std::as_const(model_.tensors.at(indices.name())).data<int64_t>();
    const auto wrong = std::ranges::find_if(stored, [&](int64_t index) { return unpooling.place(index) < 0; });
    if (wrong != stored.end()) object(op, errors::stored_index_outside(indices.name(), *wrong));
  }

  void check_channels(Op op) {
    if (!passes::misses_channels(op, platform_.channels)) return;
    const bool can_pad = passes::can_pad_channels(op, platform_.channels);
    object(op, errors::channels_not_a_multiple(platform_.name, platform_.channels.multiple, platform_.channels.above,
                                               op.in(0).dims()[1], op.out(0).dims()[1],
                                               can_pad ? "pad it with zeros (--pad-channels)" : "increase them"));
  }

  /// The quantizer outside of a region whose codes this value of the region has, with equal bits. Empty for a state,
  /// because later iterations replace its value.
  std::optional<ops::FakeQuantize> quantizer_outside(const QuantizerPlace& place) const {
    const Value value = place.values[0];
    const auto& arguments = model_.graph.arguments();
    const auto argument = std::ranges::find(arguments, value);
    const bool is_alone = place.values.size() == 1 && place.also_seen.empty();
    if (!is_region_ || !is_alone || argument == arguments.end()) return std::nullopt;
    const Op holder = model_.graph.body().parent();
    const FlowParts parts(holder);
    const auto number = static_cast<size_t>(argument - arguments.begin());
    if (number < parts.states) return std::nullopt;
    const auto outer = passes::unmoved(holder.operands()[parts.first + number]).producer<ops::FakeQuantize>();
    const bool fits = outer && bits_of(*outer) == place.bits && !outer->x().is_tensor();
    return fits ? outer : std::nullopt;
  }

  /// A bit width that is legal, to continue after an objection.
  static int possible(const BitRule& rule, int bits) {
    return std::ranges::find(rule.legal, bits) == rule.legal.end() ? rule.default_bits : bits;
  }

  /// Targets with insertion rules also define the ranges, so the result is 0.
  double reach_of(const QuantizerPlace& place) const {
    double reach = 0;
    for (const Value value : place.values) {
      const double one = platform_.insertion ? 0 : passes::reach_of(value, possible(platform_.activations, place.bits));
      if (one == 0) return 0;
      reach = std::max(reach, one);
    }
    return reach;
  }

  /// Whether only masks read a value that depends on no layer. The network does not compute with the masked numbers.
  bool is_masked(Value value) const {
    if (indices_.is_activation(value) || value.is_tensor()) return false;
    const std::vector<Value> outputs = model_.graph.outputs();
    if (std::ranges::find(outputs, value) != outputs.end()) return false;
    bool is_masked = false;
    for (const auto& [user, operand] : value.uses()) {
      if (indices_.contains(user) || !passes::reads_elements(user, operand)) continue;
      if (!is_coded(user) || !(user.is<ops::MaskFill>() || (moves_codes(user) && is_masked_behind(user)))) return false;
      is_masked = true;
    }
    return is_masked;
  }

  bool is_masked_behind(Op move) const { return activation_inputs(move).size() == 1 && is_masked(move.out(0)); }

  void insert() {
    for (const auto& [node, reason] : plan_.in_float) found_.in_float.emplace(node->name, reason);
    const auto insert_at = [&](QuantizerPlace place, const BitRule& rule, Op reader) {
      place.bits = possible(rule, place.bits);
      const ops::FakeQuantize quantizer = insert_quantizer(model_, platform_, place, reader);
      if (place.is_first_or_last) found_.first_last_scales.insert(passes::scale_tensor(quantizer).name());
    };
    for (QuantizerPlace& point : points_) {
      point.reach = reach_of(point);
      point.sees_also_alone =
          !point.also_seen.empty() && std::ranges::all_of(point.values, [&](Value value) { return is_masked(value); });
    }
    for (const QuantizerPlace& point : points_) {
      if (point.values.empty()) continue;
      if (const auto outer = quantizer_outside(point))
        insert_alike(model_, point.values[0], *outer);
      else
        insert_at(point, platform_.activations, {});
    }
    for (Op op : weighted_) {
      const Value weight = op.in(quant_of(op).weight);
      insert_at({.values = {weight},
                 .name = weight.name(),
                 .weight_axis = quant_of(op).weight_axis,
                 .bits = weight_bits_of(op),
                 .is_first_or_last = has_edges_ && edges_.contains(op.node())},
                platform_.weights, op);
    }
    for (Op op : model_.graph.ops()) {
      if (indices_.contains(op)) read_as_given(op);
    }
  }

  /// Index arithmetic reads inputs, tensors and its own results before their quantizers. Other operators use these
  /// quantizers.
  void read_as_given(Op op) {
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < operands.size(); ++i) {
      const Op quantizer = operands[i] ? operands[i].producer() : Op();
      if (!quantizer || !quantizer.is<ops::FakeQuantize>() || !passes::reads_elements(op, static_cast<int>(i)))
        continue;
      const Value given = quantizer.in(ops::FakeQuantize::record().input("x"));
      if (!indices_.is_activation(given) && (!given.producer() || plan_.is_real(given)))
        op.set_operand(static_cast<int>(i), given);
    }
  }

  Model& model_;
  const Platform& platform_;
  const Requested& requested_;
  const std::optional<Insertion>& insertion_;  ///< on a target with insertion rules
  Found& found_;
  const passes::IndexArithmetic indices_;
  bool is_region_;
  int weight_bits_, activation_bits_, edge_bits_, edge_weight_bits_;
  bool has_edges_;  ///< whether first and last layers have their own bit widths
  CodePlan plan_;
  std::vector<QuantizerPlace> points_;
  std::vector<size_t> merged_into_;                      ///< for each point, the point that absorbed it, or itself
  std::map<const detail::ValueNode*, PointSet> behind_;  ///< points by value with codes
  std::map<size_t, Op> owner_;
  std::vector<Op> weighted_;
  std::vector<Op> layers_;  ///< operations of weighted_ without those that only scale channels between layers
  std::set<const detail::OpNode*> fused_;
  std::set<const detail::OpNode*> edges_;  ///< first and last operations of the network
};

}  // namespace

bool has_first_last_bits(const Platform& platform, const PrepareOptions& options) {
  return options.first_last_bits || platform.first_last_bits;
}

void prepare_block(Model& model, const Platform& platform, const PrepareOptions& options, const Requested& requested,
                   Found& found) {
  std::optional<Insertion> insertion;
  if (platform.insertion) insertion = insertion_by_rules(model, platform, options, requested, found);
  Preparation(model, platform, options, requested, insertion, found).run();
}

}  // namespace halfstep::quant
