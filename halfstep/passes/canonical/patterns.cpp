#include "halfstep/passes/canonical/patterns.h"

#include <algorithm>
#include <ranges>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/passes/canonical/match_pattern.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

class PatternRewriter {
 public:
  explicit PatternRewriter(Model& model) : model_(model) {}

  void run(const Pattern& pattern) {
    const std::vector<Op> ops = model_.graph.ops();
    for (const Op op : ops | std::views::reverse) {
      const Value result = gone_.contains(op.node()) ? Value() : op.out(0);  // null also if another output is requested
      if (!result || op.results().size() != 1 || result.dtype() != DType::f32) continue;
      const auto match = match_pattern(model_, pattern.from, result);
      if (match && is_alone(*match, op)) rewrite(pattern.to, *match, op);
    }
  }

 private:
  /// Whether only the matched operations read the values inside the match, except the result of the last one.
  static bool is_alone(const PatternMatch& match, Op last) {
    return std::ranges::all_of(match.ops, [&](Op op) {
      if (op == last) return true;
      if (is_output(op.out(0))) return false;
      return std::ranges::all_of(op.out(0).uses(),
                                 [&](const auto& use) { return std::ranges::count(match.ops, use.first) > 0; });
    });
  }

  void rewrite(const PatternExpr& to, const PatternMatch& match, Op last) {
    const Op made = insert(to, match, last);
    if (!made) return;
    if (made.out(0).type() != last.out(0).type()) return model_.graph.erase(made);
    const std::string name = last.name();  // NOLINT(performance-unnecessary-copy-initialization): its owner goes
    last.out(0).replace_all_uses_with(made.out(0));
    erase_unread(match.ops);
    model_.graph.rename(made, name);
  }

  /// Returns null if the record rejects the operands because of their extents.
  Op insert(const PatternExpr& to, const PatternMatch& match, Op last) {
    std::vector<Value> operands;
    for (const PatternPart& part : to.parts) operands.push_back(match.values.at(part.expr.name));
    Attributes attributes;
    for (const auto& [name, attribute] : to.attributes) attributes.emplace(name, value_of(attribute, match));
    try {
      return model_.graph.insert({to.op, std::move(operands), std::move(attributes), last.name(), last.location()},
                                 nullptr, last);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::internal) throw;
      return {};
    }
  }

  static Attribute value_of(const PatternAttribute& attribute, const PatternMatch& match) {
    if (attribute.kind == PatternAttribute::Kind::literal) return attribute.value;
    const auto number = match.numbers.find(attribute.name);
    return number != match.numbers.end() ? Attribute(number->second) : Attribute(match.axes.at(attribute.name));
  }

  void erase_unread(std::vector<Op> ops) {
    const auto goes = [&](Op op) {
      if (gone_.contains(op.node())) return true;
      if (!op.out(0).unused()) return false;
      model_.graph.erase(op);
      return gone_.insert(op.node()).second;
    };
    while (std::erase_if(ops, goes) > 0) {
    }
  }

  Model& model_;
  std::set<const detail::OpNode*> gone_;
};

}  // namespace

void rewrite_patterns(Model& model) {
  PatternRewriter rewriter(model);
  for (const Pattern& pattern : all_patterns()) rewriter.run(pattern);
}

}  // namespace halfstep::passes
