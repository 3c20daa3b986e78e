#include "halfstep/passes/quantized/own_quantizers.h"

#include <algorithm>
#include <map>
#include <vector>

#include "halfstep/core/ir/region.h"
#include "halfstep/core/ir/text/parse.h"
#include "halfstep/passes/graph/tensors.h"

namespace halfstep::passes {
namespace {

/// Builds the operations of an own quantizer's network before the fake_quantize that they replace.
class OwnOpening {
 public:
  OwnOpening(Model& model, const LearnedQuantizer& one, const ops::FakeQuantize& quantizer)
      : model_(model),
        graph_(model.graph),
        one_(one),
        quantizer_(quantizer),
        network_(parse(one.networks.at(quantizer.name()), one.name)),
        builder_(Builder::before(graph_, quantizer)) {
    builder_.at(quantizer.location());
    for (const Value argument : network_.arguments()) built_.emplace(argument.node(), given(argument.name()));
    for (const Op op : network_.ops()) build(op);
  }

  void run(bool trains) {
    const Value through = trains ? carrier() : quantizer_.x();
    const std::string name = quantizer_.name();
    const Op made =
        ops::straight_through(builder_, {.value = output(kOwnResult), .through = through, .name = name + ".own"});
    quantizer_.out().replace_all_uses_with(made.out(0));
    graph_.erase(quantizer_);
    graph_.rename(made, name);  // some readers find values by name
  }

 private:
  Value given(const std::string& argument) const {
    return argument == kOwnInput ? quantizer_.x() : graph_.tensor(one_.tensors.at(argument));
  }

  Value built(Value value) const { return value ? built_.at(value.node()) : Value(); }

  void build(Op op) {
    std::vector<Value> operands;
    for (const Value operand : op.operands()) operands.push_back(built(operand));
    const Op made = builder_.insert(
        {&op.info(), std::move(operands), op.attributes(), quantizer_.name() + "." + op.name(), quantizer_.location()});
    if (!op.regions().empty()) {
      std::vector<Graph> regions;
      for (const auto& region : op.regions()) regions.push_back(region_graph(*region, op.name()));
      make_regions(made, regions, [](Value tensor) { return tensor; });
    }
    for (const Value result : op.results()) built_.emplace(result.node(), made.out(result.port()));
  }

  Value output(const std::string& name) const { return built(own_output(network_, name)); }

  /// The value without gradients.
  Value stopped(Value value) {
    const Value nothing = add_tensor(model_, name("nothing"), Tensor::scalar(0.0F), Role::constant);
    return ops::straight_through(builder_, {.value = value, .through = nothing, .name = name("derivative")}).out();
  }

  /// A value with the declared gradients: the sum of each argument times its derivative, which counts as a constant.
  Value carrier() {
    Value sum;
    for (const Value argument : network_.arguments()) {
      const Value derivative = output(own_derivative(argument.name()));
      if (!derivative) continue;
      const Value part =
          ops::mul(builder_, {.a = given(argument.name()), .b = stopped(derivative), .name = name("part")}).out();
      sum = sum ? ops::add(builder_, {.a = sum, .b = part, .name = name("through")}).out() : part;
    }
    return sum;
  }

  std::string name(const char* what) const { return quantizer_.name() + "." + what; }

  Model& model_;
  Graph& graph_;
  const LearnedQuantizer& one_;
  const ops::FakeQuantize quantizer_;
  const Graph network_;
  Builder builder_;
  std::map<const detail::ValueNode*, Value> built_;
};

}  // namespace

Value own_output(const Graph& network, const std::string& name) {
  const auto& names = network.body().output_names();
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? Value() : network.outputs()[static_cast<size_t>(found - names.begin())];
}

std::string own_derivative(const std::string& argument) { return "derivative." + argument; }

void open_own_quantizer(Model& model, const LearnedQuantizer& one, const ops::FakeQuantize& quantizer, bool trains) {
  OwnOpening(model, one, quantizer).run(trains);
}

}  // namespace halfstep::passes
