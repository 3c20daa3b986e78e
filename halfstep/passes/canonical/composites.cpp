#include "halfstep/passes/canonical/composites.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/traits.h"

namespace halfstep::passes {
namespace {

/// Returns the only operation that reads `value`, or null.
Op reader_of(Value value) {
  const auto uses = value.uses();
  return value.has_one_use() ? uses.front().first : Op();
}

template <class Operator>
Op producer(Value value) {
  const Op op = value.producer();
  return op.is<Operator>() ? op : Op();
}

/// The operand of a sum or product that is not `value`.
Value other(Op op, Value value) { return op.in(0) == value ? op.in(1) : op.in(0); }

bool is_stored(Value value) { return value && value.is_tensor(); }

using Found = std::optional<Unit>;

/// Finds x * gate(x), starting at the product.
template <class Gate>
Found gated(Op mul, const char* kind) {
  for (const Value gate : {mul.in(0), mul.in(1)}) {
    const Op op = producer<Gate>(gate);
    if (op && gate.has_one_use() && op.in(0) == other(mul, gate)) return Unit{kind, {op, mul}, {op.in(0)}};
  }
  return std::nullopt;
}

/// Starts at the error function: x / c, erf, + 1, * x, * 0.5. The factor 0.5 may come before the other factor.
Found gelu(Op erf) {
  const Op scaled = erf.in(0).producer();
  if (!scaled || !scaled.is<ops::Div, ops::Mul>() || !is_stored(scaled.in(1))) return std::nullopt;
  const Value x = scaled.in(0);
  const Op sum = reader_of(erf.out(0));
  if (!sum || !sum.is<ops::Add>() || !is_stored(other(sum, erf.out(0)))) return std::nullopt;
  Unit unit{"gelu", {scaled, erf, sum}, {x}};
  bool has_x = false, has_half = false;
  for (Op op = reader_of(sum.out(0)); op && op.is<ops::Mul>() && !(has_x && has_half); op = reader_of(op.out(0))) {
    const Value factor = other(op, unit.result());
    const Op half = factor.producer();
    if (factor == x && !has_x) {
      has_x = true;
    } else if (is_stored(factor) && !has_half) {
      has_half = true;
    } else if (half.is<ops::Mul>() && other(half, x) != x && is_stored(other(half, x)) && !has_x && !has_half) {
      has_x = has_half = true;
      unit.ops.push_back(half);
    } else {
      return std::nullopt;
    }
    unit.ops.push_back(op);
  }
  return has_x && has_half ? Found(unit) : std::nullopt;
}

/// Starts at the difference x - mean(x).
Found layer_norm(Op sub) {
  const Op mean = producer<ops::ReduceMean>(sub.in(1));
  if (!mean || mean.in(0) != sub.in(0)) return std::nullopt;
  Unit unit{"layer_norm", {mean, sub}, {sub.in(0)}};
  const auto next = [&](Value value) {
    const Op op = reader_of(value);
    if (op) unit.ops.push_back(op);
    return op;
  };
  Op square;
  for (const auto& [user, port] : sub.out(0).uses()) {
    if (user.is<ops::Power, ops::Mul>() && user.in(0) == sub.out(0)) square = user;
  }
  if (!square) return std::nullopt;
  unit.ops.push_back(square);
  const Op variance = next(square.out(0));
  if (!variance || !variance.is<ops::ReduceMean>()) return std::nullopt;
  const Op shifted = next(variance.out(0));
  if (!shifted || !shifted.is<ops::Add>()) return std::nullopt;
  const Op root = next(shifted.out(0));
  if (!root || !root.is<ops::Sqrt>()) return std::nullopt;
  const Op quotient = next(root.out(0));
  if (!quotient || !quotient.is<ops::Div>() || quotient.in(0) != sub.out(0)) return std::nullopt;
  const Op scaled = reader_of(quotient.out(0));
  if (!scaled || !scaled.is<ops::Mul>() || !is_stored(other(scaled, quotient.out(0)))) return unit;
  unit.ops.push_back(scaled);
  const Op moved = reader_of(scaled.out(0));
  if (moved && moved.is<ops::Add>() && is_stored(other(moved, scaled.out(0)))) unit.ops.push_back(moved);
  return unit;
}

/// A product of rows with the reshapes before and after it, and the addition of its bias after them.
Found rows(Op linear) {
  const Op in = producer<ops::Reshape>(linear.in(0));
  const Op out = reader_of(linear.out(0));
  if (!in || !linear.in(0).has_one_use() || !out.is<ops::Reshape>()) return std::nullopt;
  const Dims &before = in.in(0).dims(), &after = out.out(0).dims();
  const bool undone =
      before.size() > 2 && before.size() == after.size() && std::equal(before.begin(), before.end() - 1, after.begin());
  if (!undone) return std::nullopt;
  Unit unit{"linear", {in, linear, out}, {in.in(0)}};
  const Op sum = reader_of(out.out(0));
  const bool adds = sum && sum.is<ops::Add>() && is_stored(other(sum, out.out(0)));
  if (adds && other(sum, out.out(0)).dims() == Dims{after.back()}) unit.ops.push_back(sum);
  return unit;
}

Found composite(Op op) {
  if (op.is<ops::Mul>()) {
    auto silu = gated<ops::Sigmoid>(op, "silu");
    return silu ? silu : gated<ops::HardSigmoid>(op, "hard_swish");
  }
  if (op.is<ops::Erf>()) return gelu(op);
  if (op.is<ops::Sub>()) return layer_norm(op);
  if (op.is<ops::Linear>()) return rows(op);
  return std::nullopt;
}

/// Returns the activations, and stored operands of sums and products. Other stored operands, such as slopes, belong to
/// the layer.
std::vector<Value> values_read(Op op) {
  std::vector<Value> values = activation_inputs(op);
  std::erase_if(values, [&](Value value) {
    return value.is_tensor() && (!has_trait(op, Trait::accumulates) || count_elements(value.dims()) == 1);
  });
  return values;
}

/// Whether all axes but the first become one.
bool flattens(Op op) {
  const Dims &from = op.in(0).dims(), &to = op.out(0).dims();
  if (!op.is<ops::Reshape>() || from.size() < 3 || to.size() != 2 || from[0] != to[0]) return false;
  const Dims behind(from.begin() + 1, from.end());
  return std::ranges::find(behind, kUnknown) == behind.end() && count_elements(behind) == to[1];
}

std::string kind_of(Op op) { return flattens(op) ? ops::Flatten::record().name : op.info().name; }

Op weighted_of(const std::vector<Op>& ops) {
  const auto found = std::ranges::find_if(ops, [](Op op) { return op.info().quant.weight >= 0; });
  return found == ops.end() ? Op() : *found;
}

}  // namespace

std::vector<Unit> units_of(const Graph& graph) {
  std::map<const detail::OpNode*, Unit> by_last;
  std::set<const detail::OpNode*> taken;
  for (Op op : graph.ops()) {
    if (auto unit = composite(op)) {
      for (Op part : unit->ops) taken.insert(part.node());
      by_last.emplace(unit->ops.back().node(), std::move(*unit));
    }
  }
  std::vector<Unit> units;
  for (Op op : graph.ops()) {
    if (const auto unit = by_last.find(op.node()); unit != by_last.end()) {
      units.push_back(unit->second);
    } else if (!taken.contains(op.node())) {
      units.push_back({kind_of(op), {op}, values_read(op)});
    }
    if (!units.empty()) units.back().weighted = weighted_of(units.back().ops);
  }
  return units;
}

}  // namespace halfstep::passes
