#include "halfstep/passes/gradient/autodiff.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <unordered_map>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/errors.h"
#include "halfstep/passes/gradient/flow_gradients.h"
#include "halfstep/passes/gradient/gradients.h"
#include "halfstep/passes/gradient/slice_gradients.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

Value find_wanted(const Graph& graph, const std::string& name) {
  const Value stored = graph.tensor(name), value = stored ? stored : graph.value(name);
  if (value && !value.producer()) {
    if (!is_float(value.dtype())) fail(errors::parameter_of_no_float(name, to_string(value.type())));
    return value;
  }
  std::vector<std::string> names;
  for (const auto& values : {graph.tensors(), graph.arguments()}) {
    for (const Value one : values) names.push_back(one.name());
  }
  fail(errors::parameter_unknown(graph.name(), name, did_you_mean(name, names)));
}

/// The gradient of a float value has its type, the gradient of codes is f32. Extents must agree if both are known.
bool fits(Value gradient, Value value) {
  const DType dtype = is_float(value.dtype()) ? value.dtype() : DType::f32;
  return gradient.dtype() == dtype && std::ranges::equal(gradient.dims(), value.dims(), [](int64_t a, int64_t b) {
           return a == b || a == kUnknown || b == kUnknown;
         });
}

class Differentiation {
 public:
  Differentiation(Model& model, const std::vector<Value>& wanted)
      : model_(model), graph_(model.graph), builder_(graph_), depends_(dependents(graph_.body(), nodes(wanted))) {}

  void run(const std::vector<Seed>& seeds) {
    for (const Seed& seed : seeds) {
      HS_CHECK(fits(seed.gradient, seed.value));
      terms_[seed.value.node()].push_back(seed.gradient);
    }
    const std::vector<Op> ops = graph_.ops();
    for (const Op op : ops | std::views::reverse) visit(op);
  }

  std::vector<Diagnostic> take_objections() { return std::move(objections_); }

  /// Returns the sum of the contributions of all readers, or a null value if there are none.
  Value gradient_of(Value value) {
    const auto found = terms_.find(value.node());
    if (found == terms_.end()) return {};
    std::vector<Value>& terms = found->second;
    if (const Value joined = terms.size() > 1 ? joined_slices(builder_, value, terms) : Value()) terms = {joined};
    for (; terms.size() > 1; terms.pop_back()) {
      const Value first = terms.back(), second = terms[terms.size() - 2];
      if (const Op op = second.producer()) builder_.at(op.location());
      terms[terms.size() - 2] = ops::add(builder_, {.a = first, .b = second, .name = value.name() + ".grad"}).out();
    }
    return terms.front();
  }

 private:
  static ValueSet nodes(const std::vector<Value>& values) {
    ValueSet found;
    for (const Value value : values) found.insert(value.node());
    return found;
  }

  bool depends(Value value) const { return value && depends_.contains(value.node()); }

  void visit(Op op) {
    if (std::ranges::none_of(reads(op), [&](Value value) { return depends(value); })) return;
    std::vector<Value> out_grads;
    for (detail::ValueNode* result : op.node()->results)
      out_grads.push_back(result != nullptr ? gradient_of(Value(result)) : Value());
    if (std::ranges::none_of(out_grads, [](Value gradient) { return static_cast<bool>(gradient); })) return;
    builder_.at(op.location());
    const auto build = [&] {
      op.regions().empty() ? differentiate(op, out_grads) : differentiate_regions(op, out_grads);
    };
    halfstep::collect(objections_, op.name(), op.where(), build);
  }

  void differentiate(Op op, const std::vector<Value>& out_grads) {
    std::vector<bool> wanted;
    for (const Value operand : op.operands()) wanted.push_back(depends(operand));
    const size_t before = graph_.body().size();
    const std::vector<Value> gradients = build_gradient(builder_, op, out_grads, wanted);
    give_names(op, gradients, before);
    collect(op.operands(), gradients);
  }

  void differentiate_regions(Op op, const std::vector<Value>& out_grads) {
    std::vector<Value> of, gradients;
    for (const auto& [value, gradient] : flow_gradients(model_, builder_, op, out_grads, depends_)) {
      of.push_back(value);
      gradients.push_back(gradient);
    }
    collect(of, gradients);
  }

  /// Terms are stored with the last reader first and the last operand first.
  void collect(const std::vector<Value>& operands, const std::vector<Value>& gradients) {
    HS_CHECK(gradients.size() == operands.size());
    for (size_t i = gradients.size(); i-- > 0;) {
      if (!gradients[i]) continue;
      HS_CHECK(fits(gradients[i], operands[i]));
      terms_[operands[i].node()].push_back(gradients[i]);
    }
  }

  /// Names the operations that were built for `op`, which come after the first `before` operations.
  void give_names(Op op, const std::vector<Value>& gradients, size_t before) {
    for (const Op made : graph_.body().ops(before)) {
      const std::vector<Value> operands = op.operands();
      const auto found = std::ranges::find(gradients, made.out(0));
      const std::string hint = found == gradients.end()
                                   ? fmt::format("{}.{}", op.name(), made.info().name)
                                   : operands[static_cast<size_t>(found - gradients.begin())].name() + ".grad";
      graph_.rename(made, graph_.unique_name(hint));
    }
  }

  Model& model_;
  Graph& graph_;
  Builder builder_;
  const ValueSet depends_;                                            ///< values that depend on a wanted value
  std::unordered_map<detail::ValueNode*, std::vector<Value>> terms_;  ///< gradients to sum
  std::vector<Diagnostic> objections_;                                ///< errors about operations that have no gradient
};

/// Returns the reasons of operations without a gradient in `blocked`.
std::vector<Value> gradients_of(Model& model, const std::vector<Seed>& seeds, const std::vector<Value>& wanted,
                                std::vector<Diagnostic>& blocked) {
  Differentiation differentiation(model, wanted);
  differentiation.run(seeds);
  blocked = differentiation.take_objections();
  std::vector<Value> gradients;
  for (const Value value : wanted) gradients.push_back(differentiation.gradient_of(value));
  return gradients;
}

Gradients named_gradients(Model& model, const std::vector<Seed>& seeds, const std::vector<std::string>& names,
                          std::vector<Diagnostic>& blocked) {
  std::vector<Value> wanted;
  for (const std::string& name : names) wanted.push_back(find_wanted(model.graph, name));
  const std::vector<Value> found = gradients_of(model, seeds, wanted, blocked);
  Gradients gradients;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (found[i]) gradients.of.insert_or_assign(wanted[i].name(), found[i]);
  }
  return gradients;
}

Seed seed_of(Model& model, Value loss) {
  if (loss.dtype() != DType::f32 || !loss.type().is_static() || count_elements(loss.dims()) != 1)
    fail(errors::loss_not_one_float(loss.name(), to_string(loss.type())));
  Tensor one(DType::f32, loss.dims());
  one.data<float>()[0] = 1.0f;
  return {loss, add_tensor(model, loss.name() + ".grad", std::move(one), Role::constant)};
}

}  // namespace

std::vector<Value> autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<Value>& wanted) {
  std::vector<Diagnostic> blocked;
  std::vector<Value> gradients = gradients_of(model, seeds, wanted, blocked);
  fail_on_any(std::move(blocked));
  return gradients;
}

Gradients autodiff(Model& model, const std::vector<Seed>& seeds, const std::vector<std::string>& names) {
  std::vector<Diagnostic> blocked;
  Gradients gradients = named_gradients(model, seeds, names, blocked);
  fail_on_any(std::move(blocked));
  return gradients;
}

Gradients reachable_gradients(Model& model, Value loss, const std::vector<std::string>& names,
                              std::vector<Diagnostic>& blocked) {
  return named_gradients(model, {seed_of(model, loss)}, names, blocked);
}

Gradients autodiff(Model& model, Value loss, const std::vector<std::string>& names) {
  Gradients gradients = autodiff(model, {seed_of(model, loss)}, names);
  for (const std::string& name : names) {
    if (!gradients.of.contains(name)) fail(errors::parameter_not_reached(name, loss.name()));
  }
  return gradients;
}

}  // namespace halfstep::passes
