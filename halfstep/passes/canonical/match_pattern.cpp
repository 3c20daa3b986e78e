#include "halfstep/passes/canonical/match_pattern.h"

#include <algorithm>
#include <cmath>

#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Kind = PatternExpr::Kind;

/// Equal except for the rounding of a few f32 operations.
bool is_close(double a, double b) { return std::fabs(a - b) <= 0x1p-22 * std::max(std::fabs(a), std::fabs(b)); }

/// Parts of a sum or a product in the graph.
struct Parts {
  struct Part {
    Value value;
    bool inverse, root;
  };
  std::vector<Part> parts;
  double constant;
  std::vector<Op> ops;  ///< operations that combine the parts
};

/// Splits a value into at most `most` parts, so that long chains are not walked from each of their operations. An
/// operation whose result is read twice is a separate part, unless it is the outermost.
class Taker {
 public:
  Taker(const Model& model, Kind kind, size_t most)
      : model_(model), is_sum_(kind == Kind::sum), most_(most), found_{{}, is_sum_ ? 0.0 : 1.0, {}} {}

  /// Returns nothing if there are more parts.
  std::optional<Parts> take(Value value) && {
    constexpr size_t kMostOps = 16;  // including those of stored numbers
    push(value, false);
    for (bool outermost = true; !pending_.empty(); outermost = false) {
      if (found_.parts.size() + pending_.size() > most_ || found_.ops.size() > kMostOps) return std::nullopt;
      const auto [next, inverse] = pending_.back();
      pending_.pop_back();
      const bool is_apart = !outermost && !next.has_one_use();
      if (is_apart || !open(next.producer(), inverse)) found_.parts.push_back({next, inverse, false});
    }
    return std::move(found_);
  }

 private:
  void push(Value value, bool inverse) {
    const auto number = stored_number(model_, value);
    if (!number)
      pending_.emplace_back(value, inverse);
    else if (is_sum_)
      found_.constant += inverse ? -*number : *number;
    else
      found_.constant *= inverse ? 1 / *number : *number;
  }

  /// Whether the operation combines parts. If so, its parts become pending, the first on top.
  bool open(Op op, bool inverse) {
    if (!is_sum_ && op.is<ops::Power>()) return open_power(op, inverse);
    const bool is_one = is_sum_ ? op.is<ops::Add, ops::Sub>() : op.is<ops::Mul, ops::Div, ops::Reciprocal, ops::Sqrt>();
    if (!is_one) return false;
    found_.ops.push_back(op);
    if (op.is<ops::Sqrt>()) {
      found_.parts.push_back({op.in(0), inverse, true});
    } else if (op.is<ops::Reciprocal>()) {
      push(op.in(0), !inverse);
    } else {
      push(op.in(1), inverse != op.is<ops::Sub, ops::Div>());
      push(op.in(0), inverse);
    }
    return true;
  }

  bool open_power(Op op, bool inverse) {
    const double exponent = stored_number(model_, op.in(1)).value_or(0), size = std::fabs(exponent);
    if (size != 0.5 && size != 1 && size != 2 && size != 3) return false;
    found_.ops.push_back(op);
    const int times = std::max(1, static_cast<int>(size));
    for (int i = 0; i < times; ++i) found_.parts.push_back({op.in(0), inverse != (exponent < 0), size == 0.5});
    return true;
  }

  const Model& model_;
  bool is_sum_;
  size_t most_;
  std::vector<std::pair<Value, bool>> pending_;  ///< each with a flag: subtracted, or a divisor
  Parts found_;
};

/// Returns the axis that tail(axis) or only(axis) bind to a list of axes of `rank`, counted from the end.
std::optional<int64_t> axis_of(std::vector<int64_t> axes, PatternAttribute::Kind kind, int64_t rank) {
  if (kind == PatternAttribute::Kind::only && axes.size() != 1) return std::nullopt;
  for (int64_t& axis : axes) axis -= axis >= 0 ? rank : 0;
  if (axes.empty()) return rank == 0 ? std::nullopt : std::optional(-rank);
  if (kind == PatternAttribute::Kind::only) return axes[0];
  std::ranges::sort(axes);
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != static_cast<int64_t>(i) - static_cast<int64_t>(axes.size())) return std::nullopt;
  }
  return axes[0];
}

template <class T>
bool bind_name(std::map<std::string, T>& names, const std::string& name, const T& found) {
  return names.emplace(name, found).first->second == found;
}

class Matcher {
 public:
  explicit Matcher(const Model& model) : model_(model) {}

  bool match(const PatternExpr& pattern, Value value, PatternMatch& found) const {
    switch (pattern.kind) {
      case Kind::value: return bind_name(found.values, pattern.name, value);
      case Kind::tensor: return value.is_tensor() && !updater_of(value) && bind_name(found.values, pattern.name, value);
      case Kind::call: return match_call(pattern, value, found);
      case Kind::sum:
      case Kind::product: return match_parts(pattern, value, found);
    }
    return false;
  }

 private:
  bool match_parts(const PatternExpr& pattern, Value value, PatternMatch& found) const {
    const auto taken_apart = Taker(model_, pattern.kind, pattern.parts.size()).take(value);
    if (!taken_apart || taken_apart->parts.size() != pattern.parts.size()) return false;
    const Parts& parts = *taken_apart;
    if (pattern.name.empty() ? !is_close(parts.constant, pattern.constant) : parts.constant == 0) return false;
    if (!pattern.name.empty() && !bind_name(found.numbers, pattern.name, parts.constant)) return false;
    found.ops.insert(found.ops.end(), parts.ops.begin(), parts.ops.end());
    std::vector<bool> taken(parts.parts.size(), false);
    return assign(pattern, parts, 0, taken, found);
  }

  /// Assigns the pattern parts from the i-th on to parts that are not taken.
  bool assign(const PatternExpr& pattern, const Parts& parts, size_t i, std::vector<bool>& taken,
              PatternMatch& found) const {
    if (i == pattern.parts.size()) return true;
    const PatternPart& wanted = pattern.parts[i];
    for (size_t at = 0; at < parts.parts.size(); ++at) {
      const auto& [value, inverse, root] = parts.parts[at];
      if (taken[at] || inverse != wanted.inverse || root != wanted.root) continue;
      PatternMatch tried = found;
      if (!match(wanted.expr, value, tried)) continue;
      taken[at] = true;
      if (assign(pattern, parts, i + 1, taken, tried)) {
        found = std::move(tried);
        return true;
      }
      taken[at] = false;
    }
    return false;
  }

  bool match_call(const PatternExpr& pattern, Value value, PatternMatch& found) const {
    const Op op = value.producer();
    if (!op || &op.info() != pattern.op || value.port() != 0) return false;
    const std::vector<Value> operands = op.operands();
    if (operands.size() != pattern.parts.size() || !match_attributes(pattern, op, found)) return false;
    found.ops.push_back(op);
    for (size_t i = 0; i < operands.size(); ++i) {
      if (!operands[i] || !match(pattern.parts[i].expr, operands[i], found)) return false;
    }
    return true;
  }

  static bool match_attributes(const PatternExpr& pattern, Op op, PatternMatch& found) {
    return std::ranges::all_of(op.attributes(), [&](const auto& attribute) {
      const auto wanted = pattern.attributes.find(attribute.first);
      if (wanted == pattern.attributes.end())
        return attribute.second == op.info().attribute(attribute.first)->default_value;
      return match_attribute(wanted->second, attribute.second, op, found);
    });
  }

  static bool match_attribute(const PatternAttribute& wanted, const Attribute& value, Op op, PatternMatch& found) {
    if (wanted.kind == PatternAttribute::Kind::literal) {
      const auto *a = std::get_if<double>(&wanted.value), *b = std::get_if<double>(&value);
      return a != nullptr && b != nullptr ? is_close(*a, *b) : wanted.value == value;
    }
    const auto* axes = std::get_if<std::vector<int64_t>>(&value);
    if (axes == nullptr) return false;
    const auto axis = axis_of(*axes, wanted.kind, static_cast<int64_t>(op.in(0).dims().size()));
    return axis && bind_name(found.axes, wanted.name, *axis);
  }

  const Model& model_;
};

}  // namespace

std::optional<double> stored_number(const Model& model, Value value) {
  if (!value.is_tensor() || updater_of(value) || value.dtype() != DType::f32 || count_elements(value.dims()) != 1)
    return std::nullopt;
  return double{model.tensors.at(value.name()).data<float>()[0]};
}

std::optional<PatternMatch> match_pattern(const Model& model, const PatternExpr& pattern, Value value) {
  PatternMatch found;
  if (!Matcher(model).match(pattern, value, found)) return std::nullopt;
  return found;
}

}  // namespace halfstep::passes
