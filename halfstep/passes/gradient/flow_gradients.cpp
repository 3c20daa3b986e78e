#include "halfstep/passes/gradient/flow_gradients.h"

#include <algorithm>
#include <set>

#include "halfstep/core/base/diagnostics/diagnostics.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/passes/gradient/errors.h"
#include "halfstep/passes/gradient/region_gradients.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {
namespace {

using Values = std::vector<Value>;

void append(Values& values, const Values& more) { values.insert(values.end(), more.begin(), more.end()); }

/// Gradient of a branch or a call: an operation of the same kind, whose regions return gradients.
class Regions {
 public:
  explicit Regions(const FlowOperation& flow) : flow_(flow), given_(flow.op.regions().size()) {
    for (size_t r = 0; r < flow.op.regions().size(); ++r) differentiate(r);
    for (const size_t value : flow_.wanted)
      give(flow_.operand(value), [value](RegionNetwork& network) { return network.arguments[value]; });
    for (const Value tensor : flow_.tensors)
      give(tensor, [tensor](RegionNetwork& network) { return network.tensor(tensor); });
  }

  /// Returns the values whose gradients are the results of `insert`.
  const Values& of() const { return of_; }

  Op insert() {
    Values operands = flow_.operands;
    append(operands, flow_.contents());
    for (const Value grad : flow_.out_grads) {
      if (grad) operands.push_back(grad);
    }
    const Op made = flow_.insert(flow_.op.info(), std::move(operands));
    for (size_t r = 0; r < networks_.size(); ++r) {
      Values arguments = networks_[r].arguments;
      append(arguments, networks_[r].handed);
      append(arguments, grads_[r]);
      flow_.add_region(made, networks_[r], arguments, given_[r]);
    }
    made.close_regions();
    return made;
  }

 private:
  void differentiate(size_t r) {
    RegionNetwork& network = networks_.emplace_back(flow_.network(r));
    Values& grads = grads_.emplace_back();
    std::vector<Seed> seeds;
    for (size_t i = 0; i < flow_.out_grads.size(); ++i) {
      if (!flow_.out_grads[i]) continue;
      grads.push_back(network.add_gradient(network.outputs[i], flow_.out_grads[i].type()));
      seeds.push_back({network.outputs[i], grads.back()});
    }
    Values of;
    for (const size_t value : flow_.wanted) of.push_back(network.arguments[value]);
    for (const Value tensor : flow_.tensors) of.push_back(network.tensor(tensor));
    flow_.differentiate(network, seeds, of);
  }

  /// Makes all regions return the gradient of `of` if any of them has one. `in` maps `of` into a region.
  template <class In>
  void give(Value of, const In& in) {
    const auto reaches = [&](RegionNetwork& network) { return static_cast<bool>(network.gradient_of(in(network))); };
    if (std::ranges::none_of(networks_, reaches)) return;
    for (size_t r = 0; r < networks_.size(); ++r) given_[r].push_back(networks_[r].gradient_or_zeros(in(networks_[r])));
    of_.push_back(of);
  }

  const FlowOperation& flow_;
  std::vector<RegionNetwork> networks_;
  std::vector<Values> grads_;  ///< by region: its arguments for the gradients of its outputs
  std::vector<Values> given_;  ///< gradients that each region returns
  Values of_;
};

/// Gradient of a loop or a scan: a `backward` operation. It carries the gradients of states, then the sums of gradients
/// of captured values and tensors.
class Iterations {
 public:
  explicit Iterations(const FlowOperation& flow) : flow_(flow), parts_(flow.parts), wanted_(flow.wanted) {
    for (size_t i = 0; i < parts_.states; ++i) {
      const Value last = flow_.op.results()[i];
      if (flow_.is_wanted(last) && (is_float(last.dtype()) || holds_codes(last))) wanted_.insert(i);
      if (flow_.out_grads[i] && wanted_.contains(i)) add_state(i);
    }
    while (!differentiate()) continue;
    for (const size_t i : states_) carry(i);
    for (size_t i = first_captured(); i < parts_.taken(); ++i) add_up(back_.arguments[i], flow_.operand(i));
    for (const Value tensor : flow_.tensors) add_up(back_.tensor(tensor), tensor);
    for (size_t i = parts_.states; i < first_captured(); ++i) {
      const Value gradient = back_.gradient_of(back_.arguments[i]);
      if (!gradient) continue;
      given_.push_back(gradient);
      of_.push_back(flow_.operand(i));
    }
  }

  const Values& of() const { return of_; }

  Op insert() {
    const auto count = [](size_t values) { return static_cast<int64_t>(values); };
    Values operands = taken(flow_.operands, parts_.first, flow_.contents());
    append(operands, carried_operands_);
    for (size_t i = parts_.states; i < flow_.out_grads.size(); ++i) {
      if (flow_.out_grads[i]) operands.push_back(flow_.out_grads[i]);
    }
    const size_t rows = operands.size() - parts_.taken() - flow_.handed.size() - carried_operands_.size();
    operands.insert(operands.begin(), parts_.conditions > 0 ? flow_.operands[0] : Value());
    Attributes attributes = {{"states", count(parts_.states + flow_.handed.size())},
                             {"scanned", count(parts_.scanned)},
                             {"carried", count(carried_operands_.size())},
                             {"rows", count(rows)}};
    const auto at_most = flow_.op.attributes().find("at_most");
    if (at_most != flow_.op.attributes().end()) attributes.insert(*at_most);
    const Op made = flow_.insert(ops::Backward::record(), std::move(operands), std::move(attributes));
    RegionNetwork step = flow_.network(0);
    step.outputs.resize(parts_.conditions + parts_.states);
    append(step.outputs, step.finals);
    flow_.add_region(made, step, taken(step.arguments, 0, step.handed), step.outputs);
    Values arguments = taken(back_.arguments, 0, back_.handed);
    append(arguments, state_grads_);
    append(arguments, sums_);
    append(arguments, row_grads_);
    flow_.add_region(made, back_, arguments, given_);
    made.close_regions();
    return made;
  }

 private:
  size_t first_captured() const { return parts_.states + parts_.scanned; }

  /// Returns those of `values` that an iteration takes, starting at `first`, with the handed tensors inserted after the
  /// states.
  Values taken(const Values& values, size_t first, const Values& handed) const {
    Values found(values.begin() + static_cast<std::ptrdiff_t>(first), values.end());
    found.insert(found.begin() + static_cast<std::ptrdiff_t>(parts_.states), handed.begin(), handed.end());
    return found;
  }

  Values wanted_in(RegionNetwork& network) const {
    Values values;
    for (const size_t value : wanted_) values.push_back(network.arguments[value]);
    for (const Value tensor : flow_.tensors) values.push_back(network.tensor(tensor));
    return values;
  }

  /// Builds the gradients of an iteration, with the gradients of `states_` as inputs. Returns false if the gradient of
  /// another state appears. That state is then an input too, initialized before the last iteration, and the caller must
  /// run this again.
  bool differentiate() {
    back_ = flow_.network(0);
    state_grads_.clear();
    row_grads_.clear();
    std::vector<Seed> seeds;
    for (const size_t i : states_) {
      state_grads_.push_back(back_.add_gradient(back_.arguments[i], back_.arguments[i].type()));
      seeds.push_back({back_.outputs[parts_.conditions + i], state_grads_.back()});
    }
    for (size_t i = parts_.states; i < flow_.out_grads.size(); ++i) {
      if (!flow_.out_grads[i]) continue;
      const Value output = back_.outputs[parts_.conditions + i];
      const Type& stacked = flow_.out_grads[i].type();
      row_grads_.push_back(
          back_.add_gradient(output, {stacked.dtype, Dims(stacked.dims.begin() + 1, stacked.dims.end())}));
      seeds.push_back({output, row_grads_.back()});
    }
    flow_.differentiate(back_, seeds, wanted_in(back_));
    const size_t before = states_.size();
    for (size_t i = 0; i < parts_.states; ++i) {
      if (back_.gradient_of(back_.arguments[i])) add_state(i);
    }
    return states_.size() == before;
  }

  /// A layer that reads codes as real values has gradients of these real values. Iterations cannot pass them on as
  /// codes.
  static bool holds_codes(Value value) {
    const DType dtype = value.dtype();
    return !is_float(dtype) && dtype != DType::boolean && size_of(dtype) <= 2;
  }

  void add_state(size_t state) {
    const Value last = flow_.op.results()[state];
    if (!is_float(last.dtype()))
      fail(placed(errors::loop_state_without_gradient(
                      flow_.op.info().name, flow_.op.regions()[0]->arguments()[state].name(), to_string(last.type())),
                  flow_.op.name(), flow_.op.where()));
    states_.insert(state);
  }

  void carry(size_t state) {
    const Value last = flow_.out_grads[state];
    carried_operands_.push_back(last ? last : zeros_like(flow_.builder, flow_.op.results()[state]));
    given_.push_back(back_.gradient_or_zeros(back_.arguments[state]));
    of_.push_back(flow_.operand(state));
  }

  void add_up(Value inside, Value outside) {
    const Value gradient = back_.gradient_of(inside);
    if (!gradient) return;
    carried_operands_.push_back(zeros_like(flow_.builder, outside));
    sums_.push_back(back_.add_gradient(inside, inside.type()));
    Builder builder = back_.builder();
    builder.at(flow_.op.location());
    given_.push_back(ops::add(builder, {.a = sums_.back(), .b = gradient, .name = inside.name() + ".grad"}).out());
    of_.push_back(outside);
  }

  const FlowOperation& flow_;
  const FlowParts& parts_;
  std::set<size_t> wanted_;  ///< indices of values
  std::set<size_t> states_;  ///< states that have gradients
  RegionNetwork back_;
  Values state_grads_, sums_, row_grads_;  ///< arguments of `back_`
  Values given_;
  Values carried_operands_;
  Values of_;
};

template <class Made>
std::vector<std::pair<Value, Value>> gradients_by(Made made) {
  if (made.of().empty()) return {};
  const Values results = made.insert().results();
  std::vector<std::pair<Value, Value>> gradients;
  for (size_t i = 0; i < results.size(); ++i) gradients.emplace_back(made.of()[i], results[i]);
  return gradients;
}

}  // namespace

std::vector<std::pair<Value, Value>> flow_gradients(Model& model, Builder& builder, Op op,
                                                    const std::vector<Value>& out_grads, const ValueSet& wanted) {
  const FlowOperation flow(model, builder, op, out_grads, wanted);
  const bool iterates = op.info().flow == Flow::loop || op.info().flow == Flow::scan;
  return iterates ? gradients_by(Iterations(flow)) : gradients_by(Regions(flow));
}

}  // namespace halfstep::passes
