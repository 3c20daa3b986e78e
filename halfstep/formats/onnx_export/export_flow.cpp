// Control flow as ONNX's If, Loop and Scan. A nested graph of ONNX reads captured values by their names.
#include <set>

#include "halfstep/core/ir/flow.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/export_nodes.h"

namespace halfstep::formats::onnx {

void NodeExporter::add_flow(Op op) {
  NodeText node{"", op.name(), {}, {}};
  const FlowParts parts(op);
  const std::vector<Value> operands = op.operands();
  switch (op.info().flow) {
    case Flow::call: {
      const Block& region = *op.regions()[0];
      for (size_t i = 0; i < operands.size(); ++i) alias(region.arguments()[i], operands[i]);
      for (const Op inner : region.ops()) write_inner_(inner);
      for (size_t i = 0; i < op.results().size(); ++i) alias(op.results()[i], region.outputs()[i]);
      return;
    }
    case Flow::branch:
      node.op = "If";
      node.inputs = {name(op.in(0))};
      for (size_t r = 0; r < op.regions().size(); ++r)
        node.graphs.emplace_back(op.info().regions[r] + "_branch", branch(op, *op.regions()[r]));
      break;
    case Flow::loop: {
      const int64_t at_most = get<int64_t>(op.attributes(), "at_most");
      const Tensor count = Tensor::of<int64_t>(DType::i64, {}, {&at_most, 1});
      node.op = "Loop";
      node.inputs = {at_most == 0 ? "" : writer_.add_tensor(op.name() + ".at_most", count), name(op.in(0))};
      break;
    }
    case Flow::scan:
      node.op = "Scan";
      node.attributes = {{"num_scan_inputs", static_cast<int64_t>(parts.scanned)}};
      break;
    case Flow::backward: fail(errors::export_training_step(op.where(), op.info().name));
    case Flow::none: break;
  }
  if (op.info().flow != Flow::branch) {
    for (size_t i = 0; i < parts.states + parts.scanned; ++i) node.inputs.push_back(name(operands[parts.first + i]));
    node.graphs.emplace_back("body", body(op));
  }
  for (const Value result : op.results()) node.outputs.push_back(name(result));
  writer_.add_node(node);
}

proto::Graph NodeExporter::branch(Op op, const Block& region) {
  return writer_.graph_inside(op.name(), [&] {
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < region.arguments().size(); ++i) alias(region.arguments()[i], operands[i + 1]);
    for (const Op inner : region.ops()) write_inner_(inner);
    add_outputs_of(region);
  });
}

/// The body of a loop has the iteration number and the condition before the states.
proto::Graph NodeExporter::body(Op op) {
  const FlowParts parts(op);
  const Block& region = *op.regions()[0];
  return writer_.graph_inside(op.name(), [&] {
    if (op.info().flow == Flow::loop) {
      writer_.add_input(writer_.unique(op.name() + ".iteration"), {DType::i64, {}});
      writer_.add_input(writer_.unique(op.name() + ".goes_on"), {DType::boolean, {}});
    }
    const std::vector<Value> operands = op.operands();
    for (size_t i = 0; i < region.arguments().size(); ++i) {
      const Value argument = region.arguments()[i];
      if (i < parts.states + parts.scanned) {
        writer_.add_input(name(argument), argument.type());
      } else {
        alias(argument, operands[parts.first + i]);
      }
    }
    for (const Op inner : region.ops()) write_inner_(inner);
    add_outputs_of(region);
  });
}

/// Adds a node for each output that is made outside, is an argument, or is repeated.
void NodeExporter::add_outputs_of(const Block& region) {
  std::set<std::string> given;
  for (const Value output : region.outputs()) {
    const Op producer = output.producer();
    std::string called = name(output);
    const bool is_made_here = producer && producer.node()->block == &region && producer.info().flow != Flow::call;
    if (!is_made_here || given.contains(called)) {
      const std::string own = writer_.unique(called);
      writer_.add_node({"Identity", own, {called}, {own}});
      called = own;
    }
    given.insert(called);
    writer_.add_output(called, output.type());
  }
}

}  // namespace halfstep::formats::onnx
