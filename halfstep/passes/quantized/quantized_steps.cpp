#include "halfstep/passes/quantized/quantized_steps.h"

#include <algorithm>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/metadata/decisions.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/quantized/errors.h"

namespace halfstep::passes {
namespace {

/// Whether only observers and `reader` read `value`.
bool read_only_by(Value value, Op reader) {
  const auto uses = value.uses();
  return std::all_of(uses.begin(), uses.end(),
                     [&](const auto& use) { return use.first == reader || has_trait(use.first, Trait::observer); });
}

class Matcher {
 public:
  explicit Matcher(const Model& model) : graph_(model.graph), float_(model.metadata.float_operators) {}

  std::vector<QuantizedStep> run() {
    for (Op op : graph_.ops()) visit(op);
    for (Op op : graph_.ops()) {
      if (open_.contains(op.node())) reject_open(op);
    }
    for (const Value output : graph_.outputs()) require_known(graph_.body().return_op(), output);
    return std::move(steps_);
  }

 private:
  void visit(Op op) {
    const Trait trait = op.info().quant.trait;
    if (trait == Trait::observer) return;
    if (quantizes_tensor(op)) return add_stored(ops::FakeQuantize(op.node()));
    if (trait == Trait::quantizer) return close(ops::FakeQuantize(op.node()));
    if (float_.contains(op.name())) return add_real(op);
    if (is_tensor_arithmetic(op)) {
      of_tensors_.insert(op.out(0).node());
      return;
    }
    if (moves_codes(op) || computes_codes(op) || ranks_codes(op))
      require_codes(op);
    else
      fail(errors::operator_without_code_form(op.where(), op.info().name));
    if (moves_codes(op)) return add({StepKind::move, op, {}, {}, {}});
    if (ranks_codes(op)) return add({StepKind::rank, op, {}, {}, {}});
    open_.insert(op.node());
  }

  /// Whether the value is a tensor, or is computed from tensors only.
  bool is_stored(Value value) const { return value && (value.is_tensor() || of_tensors_.contains(value.node())); }

  /// Whether the quantizer applies to a weight, or to a stored operand of an operator in float.
  bool quantizes_tensor(Op op) const {
    return has_trait(op, Trait::quantizer) && is_stored(ops::FakeQuantize(op.node()).x());
  }

  /// Adds the quantizer of a tensor that an operator on codes reads as an activation.
  void add_stored(ops::FakeQuantize quantizer) {
    const auto reads_codes = [&](const auto& use) {
      const QuantInfo& quant = use.first.info().quant;
      const int port = use.first.port_of(use.second);
      return !has_trait(use.first, Trait::observer) && !float_.contains(use.first.name()) && port != quant.weight &&
             !is_number_port(quant, port);
    };
    if (std::ranges::any_of(quantizer.out().uses(), reads_codes)) add({StepKind::input, {}, {}, quantizer, {}});
  }

  /// Whether the operator computes on tensors only, such as power_of_two_scale. It belongs to the quantizer or the
  /// layer that reads it.
  bool is_tensor_arithmetic(Op op) const {
    return op.results().size() == 1 && std::ranges::all_of(op.operands(), [&](Value v) { return is_stored(v); });
  }

  /// Throws if an input has no codes. An activation may read the result of the operator that it fuses into.
  void require_codes(Op op) const {
    for (const Value input : activation_inputs(op)) {
      const bool fuses = has_trait(op, Trait::fuses_into_producer) && is_open(input.producer());
      if (!coded_.contains(input.node()) && !fuses) fail(errors::input_without_quantizer(op.where(), input.name()));
    }
  }

  void close(ops::FakeQuantize quantizer) {
    const Value x = quantizer.x();
    const Op producer = x.producer();
    if (!producer || real_.contains(x.node())) return add({StepKind::input, {}, {}, quantizer, {}});
    if (coded_.contains(x.node())) return add({StepKind::rescale, {}, {}, quantizer, {}});
    QuantizedStep step{StepKind::compute, producer, {}, quantizer, {}};
    if (has_trait(producer, Trait::fuses_into_producer) && accumulates(producer.in(0).producer()) &&
        is_open(producer.in(0).producer()) && read_only_by(producer.in(0), producer)) {
      step.main = producer.in(0).producer();
      step.activation = producer;
    }
    if (!is_open(step.main) || !is_open(producer))
      fail(errors::quantizer_without_pattern(quantizer.where(), producer.info().name, producer.name()));
    if (has_trait(step.main, Trait::weighted)) step.weight = weight_of(step.main);
    open_.erase(step.main.node());
    open_.erase(producer.node());
    add(step);
  }

  ops::FakeQuantize weight_of(Op main) const {
    const auto weight = main.in(main.info().quant.weight).producer<ops::FakeQuantize>();
    if (!weight) fail(errors::weight_without_quantizer(main.where(), main.info().name));
    return *weight;
  }

  void add(const QuantizedStep& step) {
    if (step.has_codes()) coded_.insert(step.result().node());
    for (const Value places : step.places()) real_.insert(places.node());
    steps_.push_back(step);
  }

  void add_real(Op op) {
    for (const Value operand : op.operands()) {
      if (operand) require_known(op, operand);
    }
    for (const Value result : op.results()) real_.insert(result.node());
    steps_.push_back({StepKind::real, op, {}, {}, {}});
  }

  /// Throws unless `value` is a real value or has codes that can be read as one.
  void require_known(Op reader, Value value) const {
    if (is_stored(value) || !value.producer() || real_.contains(value.node()) || coded_.contains(value.node())) return;
    if (quantizes_tensor(value.producer())) return;
    fail(errors::value_only_as_codes(reader.where(), value.name()));
  }

  [[noreturn]] static void reject_open(Op op) { fail(errors::result_without_quantizer(op.where(), op.info().name)); }

  bool is_open(Op op) const { return op && open_.contains(op.node()); }

  const Graph& graph_;
  const FloatOperators float_;
  std::vector<QuantizedStep> steps_;
  std::set<const detail::OpNode*> open_;  ///< operators on codes whose quantizer comes later
  std::set<const detail::ValueNode*> coded_, real_, of_tensors_;
};

}  // namespace

std::vector<Value> QuantizedStep::coded_inputs() const {
  if (kind == StepKind::input || kind == StepKind::real) return {};
  if (kind == StepKind::rescale) return {quantizer.x()};
  return activation_inputs(main);
}

std::vector<Value> QuantizedStep::places() const {
  if (kind != StepKind::move && kind != StepKind::rank) return {};
  std::vector<Value> results = main.results();
  if (has_codes()) results.erase(results.begin());
  return results;
}

std::string QuantizedStep::activation_name() const { return activation ? activation.info().quant.activation : "none"; }

double QuantizedStep::alpha() const {
  if (activation_name() == "leaky_relu") return get<double>(activation.attributes(), "alpha");
  return std::get<double>(ops::LeakyRelu::record().attribute("alpha")->default_value);
}

bool QuantizedStep::is_lookup() const { return kind == StepKind::compute && main.info().quant.lookup; }

std::vector<QuantizedStep> quantized_steps(const Model& model) { return Matcher(model).run(); }

Value scale_tensor(const ops::FakeQuantize& quantizer) {
  const auto rounding = quantizer.scale().producer<ops::PowerOfTwoScale>();
  return rounding ? rounding->scale() : quantizer.scale();
}

}  // namespace halfstep::passes
