#include "halfstep/passes/quantized/training_form.h"

#include <algorithm>

namespace halfstep::passes {
namespace {

constexpr std::string_view kIsTest = "is_test";

/// Whether the operation, in training form, would change a tensor that training learns.
bool moves_parameter(Op op) {
  return std::ranges::any_of(op.info().outputs, [&](const PortInfo& output) {
    const Value state = output.state_of >= 0 ? op.in(output.state_of) : Value();
    return state && state.is_tensor() && state.role() == Role::parameter;
  });
}

/// Whether the observer needs no values after calibration: it uses the widest range of all samples, or counts over all.
bool is_done(Op op) {
  const auto merge = op.attributes().find("merge");
  return merge != op.attributes().end() && std::get<std::string>(merge->second) == "widest";
}

bool is_test(Op op, Mode mode) {
  const bool observes = op.info().quant.trait == Trait::observer;
  switch (mode) {
    case Mode::evaluation: return true;
    case Mode::calibration: return !observes;
    case Mode::training: return observes && (moves_parameter(op) || is_done(op));
  }
  return true;
}

void set(Op op, Mode mode) {
  Attributes attributes = op.attributes();
  attributes.insert_or_assign(std::string(kIsTest), is_test(op, mode));
  const std::vector<Value> operands = op.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const auto operand = static_cast<int>(i);
    if (operands[i] && !op.info().has_input(op.port_of(operand), attributes)) op.set_operand(operand, {});
  }
  op.set_attributes(attributes);
}

void set(const Block& block, Mode mode) {
  for (const Op op : block.ops()) {
    for (const auto& region : op.regions()) set(*region, mode);
    if (op.info().attribute(kIsTest) != nullptr) set(op, mode);
  }
}

}  // namespace

void set_mode(Graph& graph, Mode mode) { set(graph.body(), mode); }

}  // namespace halfstep::passes
