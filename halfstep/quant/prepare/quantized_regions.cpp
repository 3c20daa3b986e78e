#include "halfstep/quant/prepare/quantized_regions.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/quant/prepare/errors.h"

namespace halfstep::quant {
namespace {

using OpSet = std::set<const detail::OpNode*>;

bool begins(Op op) { return op && op.is<ops::InputNop>(); }
bool ends(Op op) { return op && op.is<ops::OutputNop>(); }

/// Collects operations that compute `value`, through operators that only move it. "" for an input.
void collect_makers(Value value, std::set<std::string>& names) {
  const Op op = value.producer();
  if (!op) return;
  if (!passes::moves_codes(op)) {
    names.insert("'" + op.name() + "'");
    return;
  }
  for (const Value input : passes::activation_inputs(op)) collect_makers(input, names);
}

std::string makers_of(Value value) {
  std::set<std::string> names;
  collect_makers(value, names);
  return fmt::format("{}", fmt::join(names, ", "));
}

class Regions {
 public:
  explicit Regions(const Graph& graph) : ops_(graph.ops()) {
    for (Op op : ops_) {
      if (begins(op)) begins_.push_back(op);
      if (ends(op)) ends_.push_back(op);
    }
    find_inside();
  }

  bool none() const { return begins_.empty() && ends_.empty(); }
  bool inside(Op op) const { return inside_.contains(op.node()); }

  std::vector<Diagnostic> objections() {
    check_count();
    for (Op op : begins_) check_begin(op);
    for (Op op : ends_) check_end(op);
    for (Op op : ops_) {
      if (inside(op)) check_borders(op);
    }
    return std::move(objections_);
  }

 private:
  /// Finds operations after a begin marker and before an end marker.
  void find_inside() {
    for (Op op : ops_) {
      const auto comes_from = [&](const OpSet& set) {
        return std::ranges::any_of(op.operands(), [&](Value value) {
          return value && value.producer() && set.contains(value.producer().node()) && !ends(value.producer());
        });
      };
      if (begins(op) || comes_from(ahead_)) ahead_.insert(op.node());
      const bool reads_end = std::ranges::any_of(op.operands(), [&](Value value) {
        return value && value.producer() && (ends(value.producer()) || behind_end_.contains(value.producer().node()));
      });
      if (reads_end && !begins(op)) behind_end_.insert(op.node());
    }
    OpSet leads;
    for (auto op = ops_.rbegin(); op != ops_.rend(); ++op) {
      const auto goes_to = [&](const auto& use) { return leads.contains(use.first.node()) && !begins(use.first); };
      const bool leads_on =
          std::ranges::any_of(op->results(), [&](Value value) { return std::ranges::any_of(value.uses(), goes_to); });
      if (!ends(*op) && !leads_on) continue;
      leads.insert(op->node());
      if (ahead_.contains(op->node())) inside_.insert(op->node());
    }
  }

  void object(Op op, Diagnostic objection) {
    objection.layer = op.name();
    objection.where = op.where();
    objections_.push_back(std::move(objection));
  }

  void check_count() {
    std::vector<std::string> producers;
    for (Op op : ends_) producers.push_back(makers_of(op.in(0)));
    for (Op op : ends_) {
      const int64_t stated = ops::OutputNop(op.node()).outputs();
      if (stated == std::ssize(ends_)) continue;
      object(op, errors::markers_miscounted(ends_.size(), fmt::format("{}", fmt::join(producers, ", ")), stated));
    }
  }

  void check_begin(Op op) {
    const Op before = op.in(0).producer();
    if (before && inside(before) && !ends(before)) {
      object(op, errors::marker_begins_inside());
    } else if (!inside(op)) {
      object(op, errors::marker_without_end());
    }
  }

  void check_end(Op op) {
    if (!inside(op)) {
      const bool is_crossed = std::ranges::any_of(begins_, [&](Op begin) { return is_behind(begin, op); });
      object(op, is_crossed ? errors::marker_ends_before_begin() : errors::marker_without_begin());
      return;
    }
    const Op before = op.in(0).producer();
    if (begins(before)) {
      object(op, errors::region_without_layer());
    } else if (passes::moves_codes(before)) {
      object(op, errors::marker_behind_move(before.info().name, before.name(), makers_of(op.in(0))));
    }
  }

  /// Whether `op` depends on a result of `from`.
  bool is_behind(Op op, Op from) const {
    OpSet reached = {from.node()};
    for (Op one : ops_) {
      const bool reads = std::ranges::any_of(one.operands(), [&](Value value) {
        return value && value.producer() && reached.contains(value.producer().node());
      });
      if (reads) reached.insert(one.node());
    }
    return reached.contains(op.node());
  }

  /// Values must enter and leave a region through markers.
  void check_borders(Op op) {
    if (!begins(op)) {
      for (const Value value : op.operands()) {
        if (value && !value.is_tensor() && value.dtype() == DType::f32) check_entry(op, value);
      }
    }
    if (ends(op)) return;
    for (const Value value : op.results()) {
      for (const auto& [user, operand] : value.uses()) {
        if (!inside(user) && !passes::has_trait(user, Trait::observer)) object_to_exit(user, value);
      }
    }
  }

  void check_entry(Op op, Value value) {
    const Op from = value.producer();
    if (from && (inside(from) ? !ends(from) : !is_live(from))) return;
    const bool is_late = from && (ends(from) || behind_end_.contains(from.node()));
    object(op, is_late ? errors::region_reads_own_output(op.info().name, value.name())
                       : errors::region_input_unmarked(value.name()));
  }

  void object_to_exit(Op user, Value value) {
    const bool is_output = user.results().empty();
    const std::string use = is_output ? fmt::format("an output of the network is '{}'", value.name())
                                      : fmt::format("this {} reads '{}'", user.info().name, value.name());
    object(is_output ? value.producer() : user, errors::region_output_unmarked(use, makers_of(value)));
  }

  /// Whether a result of `op` depends on a value other than tensors.
  static bool is_live(Op op) {
    return std::ranges::any_of(op.operands(), [](Value value) {
      return value && !value.is_tensor() && (!value.producer() || is_live(value.producer()));
    });
  }

  std::vector<Op> ops_, begins_, ends_;
  OpSet ahead_;       ///< after a begin marker, including the end marker
  OpSet behind_end_;  ///< after an end marker, with no begin marker between
  OpSet inside_;
  std::vector<Diagnostic> objections_;
};

}  // namespace

void include_inner(std::map<const detail::OpNode*, std::string>& reasons, const Graph& graph) {
  for (const Op op : graph.all_ops()) {
    const auto holder = reasons.find(op.node()->block->parent().node());
    if (holder != reasons.end()) reasons.try_emplace(op.node(), holder->second);
  }
}

std::map<const detail::OpNode*, std::string> outside_regions(const Graph& graph) {
  Regions regions(graph);
  std::map<const detail::OpNode*, std::string> outside;
  if (regions.none() || !regions.objections().empty()) return outside;
  for (Op op : graph.ops()) {
    if (!regions.inside(op) || begins(op)) outside.emplace(op.node(), "outside of the quantized region");
  }
  include_inner(outside, graph);
  return outside;
}

std::vector<Diagnostic> objections_to_markers(const Graph& graph) { return Regions(graph).objections(); }

}  // namespace halfstep::quant
