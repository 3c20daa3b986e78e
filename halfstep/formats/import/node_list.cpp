#include "halfstep/formats/import/node_list.h"

#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/paddle/paddle_file.h"

namespace halfstep::formats {
namespace {

NodeLine line_of(const onnx::proto::Node& node) {
  const std::string domain = onnx::plain_domain(node.domain());
  return {(domain.empty() ? "" : domain + ".") + node.op_type(),
          node.name(),
          {node.input().begin(), node.input().end()},
          {node.output().begin(), node.output().end()}};
}

std::vector<std::string> values_of(const std::vector<paddle::Slot>& slots) {
  std::vector<std::string> values;
  for (const paddle::Slot& slot : slots) values.insert(values.end(), slot.values.begin(), slot.values.end());
  return values;
}

}  // namespace

std::vector<NodeLine> node_list(const File& file) {
  std::vector<NodeLine> lines;
  if (const auto* found = dynamic_cast<const onnx::OnnxFile*>(&file)) {
    for (const onnx::proto::Node& node : found->graph().node()) lines.push_back(line_of(node));
  } else if (const auto* program = dynamic_cast<const paddle::PaddleFile*>(&file)) {
    for (const paddle::Operator& op : program->program().blocks.front().operators)
      lines.push_back({op.type, "", values_of(op.inputs), values_of(op.outputs)});
  }
  return lines;
}

}  // namespace halfstep::formats
