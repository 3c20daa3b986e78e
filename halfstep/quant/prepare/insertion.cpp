#include "halfstep/quant/prepare/insertion.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/canonical/composites.h"
#include "halfstep/passes/canonical/index_arithmetic.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

using passes::Unit;

bool lists(const std::vector<std::string>& kinds, const std::string& kind) {
  return std::ranges::find(kinds, kind) != kinds.end();
}

class Inserter {
 public:
  Inserter(const Graph& graph, const InsertionRules& rules, const Requests& requests)
      : graph_(graph), rules_(rules), requests_(requests), indices_(graph), units_(passes::units_of(graph)) {
    fuse();
    for (size_t i = 0; i < units_.size(); ++i) {
      maker_[units_[i].result().node()] = i;
      for (const Value input : units_[i].inputs) readers_[input.node()].push_back(i);
    }
  }

  Insertion run() {
    if (rules_.inputs == Ends::always) {
      for (const Value input : graph_.arguments()) {
        if (!is_for_indices(input)) add(input, "input of the network");
      }
    }
    for (const Unit& unit : units_) ask(unit);
    for (const Unit& unit : units_) give(unit);
    if (rules_.outputs == Ends::always) {
      for (const Value output : graph_.outputs()) {
        if (is_end(output)) add(output, "output of the network");
      }
    }
    find_signs();
    find_edges();
    for (const Unit& unit : units_) {
      if (has_stored_weight(unit) && !is_float(unit) && lists(rules_.weights, unit.weighted.info().name))
        found_.weighted.push_back(unit.weighted);
    }
    return std::move(found_);
  }

 private:
  bool is_float(const Unit& unit) const {
    return std::ranges::any_of(unit.ops,
                               [&](Op op) { return requests_.in_float.contains(op.node()) || indices_.contains(op); });
  }

  /// A computed weight has no quantizer, so the layer stays in float.
  static bool has_stored_weight(const Unit& unit) {
    return unit.weighted && unit.weighted.in(unit.weighted.info().quant.weight).is_tensor();
  }

  /// Whether only index arithmetic reads the value.
  bool is_for_indices(Value value) const {
    return !value.unused() &&
           std::ranges::all_of(value.uses(), [&](const auto& use) { return indices_.contains(use.first); });
  }

  static std::string named(const Unit& unit) {
    return fmt::format("{} '{}'", unit.kind, (unit.weighted ? unit.weighted : unit.ops.back()).name());
  }

  /// Merges a unit into the preceding one if it is the only reader, and the target treats both as one operation.
  void fuse() {
    std::vector<Unit> fused;
    std::map<const detail::ValueNode*, size_t> made;  // unit by its result
    for (Unit& unit : units_) {
      const bool is_alone = !unit.inputs.empty() && unit.inputs[0].has_one_use();
      const auto before = is_alone ? made.find(unit.inputs[0].node()) : made.end();
      const std::string kind = before == made.end() ? "" : kind_of_both(fused[before->second], unit);
      const size_t place = kind.empty() ? fused.size() : before->second;
      if (kind.empty()) {
        fused.push_back(std::move(unit));
      } else {
        fused[place].kind = kind;
        fused[place].ops.push_back(unit.ops.back());
      }
      made[fused[place].result().node()] = place;
    }
    units_ = std::move(fused);
  }

  /// The kind of the merged unit, "" if the units stay separate. A normalization fuses into the preceding operation
  /// with weights. An activation function fuses if the target's rules list it.
  std::string kind_of_both(const Unit& before, const Unit& unit) const {
    const std::string norm = ops::BatchNorm::record().name;
    const bool fuses = lists(rules_.fuses, unit.kind);
    if (before.weighted && (unit.kind == norm || (fuses && takes_activations(before)))) return before.kind;
    if (before.kind == norm && fuses && rules_.follows(QuirkKind::norms_with_relu)) return norm + "_" + unit.kind;
    const bool is_mean =
        before.kind == ops::GlobalAvgPool::record().name && requests_.means.contains(unit.ops.back().name());
    return is_mean && rules_.follows(QuirkKind::means_apart) ? ops::ReduceMean::record().name : "";
  }

  bool takes_activations(const Unit& unit) const {
    return !rules_.follows(QuirkKind::deconvolutions_alone) || !unit.weighted.is<ops::ConvTranspose>() ||
           requests_.normalized.contains(unit.weighted.name());
  }

  const Unit* maker(Value value) const {
    const auto found = maker_.find(value.node());
    return found == maker_.end() ? nullptr : &units_[found->second];
  }

  std::vector<const Unit*> readers(Value value) const {
    std::vector<const Unit*> units;
    const auto found = readers_.find(value.node());
    if (found == readers_.end()) return units;
    for (const size_t i : found->second) units.push_back(&units_[i]);
    return units;
  }

  bool merges(const Unit* of, const Unit& into) const {
    return of != nullptr && std::ranges::any_of(rules_.merges, [&](const auto& pair) {
             return pair.first == of->kind && pair.second == into.kind;
           });
  }

  /// Whether the reader uses the range of the value's source instead of its own.
  bool propagates(const Unit* of, Value value) const {
    const auto takes = [&](const Unit* reader) { return lists(rules_.propagates_to, reader->kind); };
    return of != nullptr && lists(rules_.propagates_from, of->kind) && std::ranges::any_of(readers(value), takes);
  }

  /// The reason why the user asked for this unit, or nullptr. An operation of the unit must read an input of the unit.
  const std::string* request(const Unit& unit) const {
    for (Op op : unit.ops) {
      const auto found = requests_.also.find(op.node());
      const auto operands = op.operands();
      const auto reads = [&](Value input) { return std::ranges::find(operands, input) != operands.end(); };
      if (found != requests_.also.end() && std::ranges::any_of(unit.inputs, reads)) return &found->second;
    }
    return nullptr;
  }

  bool is_skipped(const Unit& unit) const {
    const bool is_part = unit.ops.back().is<ops::Slice, ops::Gather>();
    return lists(rules_.skips, unit.kind) || (is_part && rules_.follows(QuirkKind::parts_skipped));
  }

  void ask(const Unit& unit) {
    if (const std::string* reason = request(unit)) {
      for (const Value input : unit.inputs) add(input, fmt::format("{} by {}", *reason, named(unit)));
    }
    if (is_float(unit) || !lists(rules_.asks, unit.kind)) return;
    for (const Value input : unit.inputs) {
      const Unit* from = maker(input);
      const bool is_input = from == nullptr && !input.is_tensor();
      if (input.dtype() != DType::f32 || merges(from, unit) || propagates(from, input)) continue;
      if ((is_input && rules_.inputs == Ends::never) || (from != nullptr && is_skipped(*from))) continue;
      if (rules_.outputs == Ends::never && is_output(input)) continue;
      add(input, "requested by " + named(unit));
    }
  }

  void give(const Unit& unit) {
    if (is_float(unit) || !lists(rules_.gives, unit.kind)) return;
    const Value result = unit.result();
    for (const Unit* reader : readers(result)) {
      if (lists(rules_.passes, reader->kind)) {
        add(reader->result(), fmt::format("result of {}, after {}", named(unit), named(*reader)));
      } else if (!merges(&unit, *reader)) {
        add(result, "result of " + named(unit));
      }
    }
    if (is_output(result)) add(result, "result of " + named(unit));
  }

  void add(Value value, std::string reason) {
    if (value.dtype() != DType::f32 || !index_.try_emplace(value.node(), found_.activations.size()).second) return;
    found_.activations.push_back({value, std::move(reason)});
    found_.quantized.insert(value.node());
  }

  /// Activations are not in graph order, so is_unsigned follows the operators before each of them.
  void find_signs() {
    for (Insertion::Activation& activation : found_.activations) activation.is_unsigned = is_unsigned(activation.value);
  }

  bool is_unsigned(Value value) const {
    const Unit* from = maker(value);
    if (from == nullptr) return false;
    if (lists(rules_.unsigned_behind, from->weighted ? from->ops.back().info().name : from->kind)) return true;
    if (!lists(rules_.sign_of_inputs, from->kind)) return false;
    return std::ranges::all_of(from->inputs, [&](Value input) { return is_unsigned(nearest(input)); });
  }

  /// The value whose quantizer precedes `value`. Follows first operands until a value with a quantizer.
  Value nearest(Value value) const {
    const Unit* from = maker(value);
    while (!index_.contains(value.node()) && from != nullptr && !from->inputs.empty()) {
      value = from->inputs[0];
      from = maker(value);
    }
    return value;
  }

  void find_edges() {
    for (const Unit& unit : units_) {
      const bool reads = std::ranges::any_of(unit.inputs, [&](Value input) { return is_argument(input); });
      if (!reads && !is_end(unit.result())) continue;
      for (Op op : unit.ops) found_.edges.insert(op.node());
      for (const Value input : unit.inputs) {
        if (const auto at = index_.find(input.node()); at != index_.end())
          found_.activations[at->second].is_first_or_last = true;
      }
    }
  }

  bool is_end(Value value) const {
    return is_output(value) && (!rules_.follows(QuirkKind::single_output) || graph_.outputs().size() == 1);
  }

  bool is_output(Value value) const { return graph_.body().returns(value); }

  static bool is_argument(Value value) { return !value.producer() && !value.is_tensor(); }

  const Graph& graph_;
  const InsertionRules& rules_;
  const Requests& requests_;
  const passes::IndexArithmetic indices_;
  std::vector<Unit> units_;
  std::map<const detail::ValueNode*, size_t> maker_;                 ///< by result
  std::map<const detail::ValueNode*, std::vector<size_t>> readers_;  ///< by input
  std::map<const detail::ValueNode*, size_t> index_;                 ///< position in found_.activations by value
  Insertion found_;
};

}  // namespace

std::map<std::string, std::string> deviations_from_mqbench(const Graph& graph, const InsertionRules& rules,
                                                           const Requests& requests, const Insertion& ours,
                                                           bool has_edges) {
  std::map<std::string, std::string> found;
  if (rules.as_mqbench || rules.quirks.empty()) return found;
  for (const Quirk& quirk : rules.quirks) {
    InsertionRules with = rules;
    with.quirks = {quirk};
    with.as_mqbench = true;
    const Insertion theirs = insertion_of(graph, with, requests);
    const auto note = [&](const Insertion::Activation& one, const char* what) {
      found.emplace(one.value.name(), fmt::format("{}: {} ({})", what, quirk.reason, name(quirk.kind)));
    };
    for (const auto& one : ours.activations) {
      const auto same = std::ranges::find(theirs.activations, one.value, &Insertion::Activation::value);
      if (same == theirs.activations.end())
        note(one, "MQBench inserts no quantizer here");
      else if (has_edges && same->is_first_or_last != one.is_first_or_last)
        note(one, "MQBench does not treat this as an input or output of the network");
    }
    for (const auto& one : theirs.activations) {
      if (!ours.has(one.value)) note(one, "MQBench inserts a quantizer here");
    }
  }
  return found;
}

Insertion insertion_of(const Graph& graph, const InsertionRules& rules, const Requests& requests) {
  for (const auto& [node, reason] : requests.also) {
    if (const auto found = requests.in_float.find(node); found != requests.in_float.end())
      fail(errors::layer_in_float_and_quantized(node->info->name, node->name, reason, found->second));
  }
  return Inserter(graph, rules, requests).run();
}

}  // namespace halfstep::quant
