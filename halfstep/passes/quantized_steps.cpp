#include "halfstep/passes/quantized_steps.h"

#include <algorithm>
#include <functional>
#include <set>

#include "halfstep/base/status.h"
#include "halfstep/passes/traits.h"

namespace halfstep::passes {
namespace {

/// Whether nothing but observers reads `value`, `reader` apart.
bool read_only_by(Value value, Op reader) {
  const auto uses = value.uses();
  return std::all_of(uses.begin(), uses.end(),
                     [&](const auto& use) { return use.first == reader || has_trait(use.first, "observer"); });
}

bool is_weight_quantizer(Op op) { return has_trait(op, "quantizer") && ops::FakeQuantize(op.node()).x().is_tensor(); }

/// Operators on scales alone, such as power_of_two_scale: they belong to the quantizer that reads them.
bool is_scale_arithmetic(Op op) {
  const auto operands = op.operands();
  return op.info().quant.trait.empty() && !operands.empty() &&
         std::all_of(operands.begin(), operands.end(), [](Value v) { return v && v.is_tensor(); });
}

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph) {}

  std::vector<QuantizedStep> run() {
    for (Op op : graph_.ops()) visit(op);
    for (Op op : waiting_) add_real(op);
    return std::move(steps_);
  }

 private:
  void visit(Op op) {
    const std::string& trait = op.info().quant.trait;
    if (trait == "observer" || is_weight_quantizer(op) || is_scale_arithmetic(op)) return;
    if (trait == "quantizer") return close(ops::FakeQuantize(op.node()));
    if (moves_codes(op) && have_codes(feature_inputs(op))) return add({StepKind::move, op, {}, {}, {}});
    waiting_.push_back(op);  // until a quantizer closes it, or it turns out to be a real operator
  }

  void close(ops::FakeQuantize quantizer) {
    const Value x = quantizer.x();
    const Op producer = x.producer();
    if (!producer || is_real(x)) return add({StepKind::input, {}, {}, quantizer, {}});
    if (coded_.contains(x.node())) return add({StepKind::rescale, {}, {}, quantizer, {}});
    QuantizedStep step{StepKind::compute, producer, {}, quantizer, {}};
    if (has_trait(producer, "fuses_into_producer") && is_waiting(producer.in(0).producer()) &&
        accumulates(producer.in(0).producer()) && read_only_by(producer.in(0), producer)) {
      step.main = producer.in(0).producer();
      step.activation = producer;
    }
    if (!is_waiting(step.main))
      unsupported("{}: no pattern takes this quantizer in: its input comes from {} '{}'", quantizer.where(),
                  producer.info().name, producer.name());
    if (!computes_on_codes(step.main)) {
      add_real_until(producer);
      return add({StepKind::input, {}, {}, quantizer, {}});
    }
    if (has_trait(step.main, "weighted")) step.weight = weight_of(step.main);
    if (step.activation) settle(step.activation);
    settle(step.main);
    add(step);
  }

  bool computes_on_codes(Op op) const {
    return (accumulates(op) || op.info().quant.lookup) && have_codes(feature_inputs(op));
  }

  ops::FakeQuantize weight_of(Op main) const {
    const auto weight = main.in(main.info().quant.weight).producer<ops::FakeQuantize>();
    if (!weight) unsupported("{}: the weight of this {} has no quantizer", main.where(), main.info().name);
    return *weight;
  }

  void add(const QuantizedStep& step) {
    coded_.insert(step.result().node());
    steps_.push_back(step);
  }

  /// `last` and the operators that wait in front of it, in their order: what they need stands before them.
  void add_real_until(Op last) {
    std::set<const detail::OpNode*> needed = {last.node()};
    for (auto op = waiting_.rbegin(); op != waiting_.rend(); ++op) {
      if (!needed.contains(op->node())) continue;
      for (const Value operand : op->operands()) {
        if (operand && operand.producer()) needed.insert(operand.producer().node());
      }
    }
    const auto is_needed = [&](Op op) { return needed.contains(op.node()); };
    const auto rest = std::stable_partition(waiting_.begin(), waiting_.end(), std::not_fn(is_needed));
    const std::vector<Op> chain(rest, waiting_.end());
    waiting_.erase(rest, waiting_.end());
    for (Op op : chain) add_real(op);
  }

  void add_real(Op op) {
    reject_layer_with_weights(op);
    for (const Value operand : op.operands()) {
      if (operand && operand.producer() && !is_real(operand) && !coded_.contains(operand.node()))
        unsupported("{}: reads '{}', which is nowhere but as codes behind its quantizer", op.where(), operand.name());
    }
    for (const Value result : op.results()) real_.insert(result.node());
    steps_.push_back({StepKind::real, op, {}, {}, {}});
  }

  void reject_layer_with_weights(Op op) const {
    const Value weight = has_trait(op, "weighted") ? op.in(op.info().quant.weight) : Value();
    if (!weight || !(weight.is_tensor() || has_trait(weight.producer(), "quantizer"))) return;
    for (const Value input : feature_inputs(op)) {
      if (!coded_.contains(input.node()))
        unsupported("{}: input '{}' has no quantizer, expected codes", op.where(), input.name());
    }
    unsupported("{}: no quantizer takes the result of this {}; a silent float layer is refused", op.where(),
                op.info().name);
  }

  bool is_real(Value value) const { return real_.contains(value.node()); }
  bool have_codes(const std::vector<Value>& values) const {
    return !values.empty() && std::ranges::all_of(values, [&](Value v) { return coded_.contains(v.node()); });
  }
  bool is_waiting(Op op) const { return std::find(waiting_.begin(), waiting_.end(), op) != waiting_.end(); }
  void settle(Op op) { std::erase(waiting_, op); }

  const Graph& graph_;
  std::vector<QuantizedStep> steps_;
  std::vector<Op> waiting_;
  std::set<const detail::ValueNode*> coded_, real_;
};

}  // namespace

std::vector<Value> QuantizedStep::coded_inputs() const {
  if (kind == StepKind::input || kind == StepKind::real) return {};
  if (kind == StepKind::rescale) return {quantizer.x()};
  return feature_inputs(main);
}

std::string QuantizedStep::activation_name() const { return activation ? activation.info().quant.activation : "none"; }

double QuantizedStep::alpha() const {
  if (activation_name() == "leaky_relu") return get<double>(activation.attributes(), "alpha");
  return std::get<double>(ops::LeakyRelu::record().attribute("alpha")->default_value);
}

std::optional<std::vector<int64_t>> QuantizedStep::global_window() const {
  if (kind != StepKind::compute || &main.info() != &ops::GlobalAvgPool::record()) return std::nullopt;
  const Dims& dims = main.in(0).dims();
  return std::vector<int64_t>{dims[2], dims[3]};
}

bool QuantizedStep::is_lookup() const { return kind == StepKind::compute && main.info().quant.lookup; }

std::vector<QuantizedStep> quantized_steps(const Graph& graph) { return Matcher(graph).run(); }

Value scale_tensor(const ops::FakeQuantize& quantizer) {
  const auto rounding = quantizer.scale().producer<ops::PowerOfTwoScale>();
  return rounding ? rounding->scale() : quantizer.scale();
}

}  // namespace halfstep::passes
