#include "halfstep/passes/quantized/coded_rebuild.h"

#include "halfstep/core/ir/region.h"
#include "halfstep/passes/graph/tensors.h"
#include "halfstep/passes/graph/traits.h"
#include "halfstep/passes/graph/uses.h"

namespace halfstep::passes {

CodedRebuild::CodedRebuild(const Model& source) : source_(source) {
  result_.metadata = source.metadata;
  graph().set_name(source.graph.name());
  for (const Value argument : source.graph.arguments())
    set_real(argument, graph().add_argument(argument.name(), argument.type()));
}

Value CodedRebuild::known(Value tensor, const Tensor& contents) {
  const Value found = graph().tensor(tensor.name());
  return found && result_.tensors.at(tensor.name()).same_bits(contents) ? found : Value();
}

Value CodedRebuild::real(Value old) {
  if (const auto found = floats_.find(old.node()); found != floats_.end()) return found->second;
  Value made =
      old.is_tensor() ? known(old, source_.tensors.at(old.name())) : Value();  // a region may have added it already
  if (!made) made = has_codes(old) ? dequantize(old, old.name() + ".real") : real_of_source(old);
  return floats_[old.node()] = made;
}

void CodedRebuild::rebuild_move(const QuantizedStep& step) {
  const Op move = step.main;
  const Value source = step.coded_inputs().front();
  OpSpec spec{&move.info(), {}, move.attributes(), move.name(), move.location()};
  const auto operands = move.operands();
  for (size_t i = 0; i < operands.size(); ++i) {
    const int port = move.port_of(static_cast<int>(i));
    if (is_number_port(move.info().quant, port)) {
      spec.operands.push_back(operands[i] ? real(operands[i]) : Value());
    } else {
      const bool fills = port == move.info().quant.fill;
      spec.operands.push_back(fills ? code_of_fill(operands[i], source, step.name() + ".fill") : codes(operands[i]));
    }
  }
  const Op moved = builder_.insert(std::move(spec));
  for (const Value places : step.places()) set_real(places, moved.out(places.port()));
  if (!step.has_codes()) return;
  set_codes(step.result(), moved.out(0));
  read_alike(step.result(), source);
}

Op CodedRebuild::copied(Op op) {
  OpSpec spec{&op.info(), {}, op.attributes(), op.name(), op.location()};
  for (const Value operand : op.operands()) spec.operands.push_back(operand ? real(operand) : Value());
  const Op copy = builder_.insert(std::move(spec));
  if (!op.regions().empty()) rebuild_regions(op, copy);
  return copy;
}

void CodedRebuild::rebuild_regions(Op from, Op to) {
  std::vector<Graph> graphs;
  std::map<const detail::ValueNode*, Tensor> contents;
  for (size_t r = 0; r < from.regions().size(); ++r) {
    Model made = rebuilt(region_model(source_, *from.regions()[r], from.info().regions[r]));
    graphs.push_back(std::move(made.graph));
    for (const Value tensor : graphs.back().tensors()) contents[tensor.node()] = made.tensors.at(tensor.name());
  }
  make_regions(to, graphs, [&](Value tensor) {
    const Tensor& held = contents.at(tensor.node());
    const Value found = known(tensor, held);
    return found ? found : add_tensor(result_, tensor.name(), held, tensor.role());
  });
}

void CodedRebuild::rebuild_real(Op op) {
  const Op copy = copied(op);
  for (const Value result : op.results()) set_real(result, copy.out(result.port()));
}

void CodedRebuild::finish_network() {
  std::vector<Value> outputs;
  for (const Value old : source_.graph.outputs()) outputs.push_back(real(old));
  graph().set_outputs(outputs, source_.graph.body().output_names());
  for (const auto& [value, codes] : codes_) expect_extents(*value, codes);
  for (const auto& [value, real] : floats_) expect_extents(*value, real);
}

ops::FakeQuantize quantizer_of(Value value) { return ops::FakeQuantize(unmoved(value).producer().node()); }

}  // namespace halfstep::passes
