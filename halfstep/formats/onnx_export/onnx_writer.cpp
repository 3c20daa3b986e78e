#include "halfstep/formats/onnx_export/onnx_writer.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "halfstep/core/base/status.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/ir/ops.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/tensor_data.h"
#include "halfstep/formats/onnx_export/errors.h"
#include "halfstep/formats/onnx_export/export_nodes.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {
namespace {

Trait trait_of(Op op) { return op.info().quant.trait; }

/// Returns the operators that outputs depend on, without quantizers, so that scales and observers are not included.
std::set<const detail::OpNode*> needed(const Graph& graph) {
  std::set<const detail::OpNode*> found;
  std::vector<Value> waiting = graph.outputs();
  while (!waiting.empty()) {
    const Value value = waiting.back();
    waiting.pop_back();
    const Op op = value ? value.producer() : Op();
    if (!op || !found.insert(op.node()).second) continue;
    if (trait_of(op) == Trait::quantizer) {
      waiting.push_back(op.in(0));
    } else {
      for (const Value operand : op.operands()) waiting.push_back(operand);
      for (const auto& region : op.regions()) std::ranges::copy(region->outputs(), std::back_inserter(waiting));
    }
  }
  return found;
}

void add_float_network(NodeExporter& nodes, ExportForm form) {
  const Graph& graph = nodes.model().graph;
  const auto used = needed(graph);
  const auto add = [&](Op op) {
    if (!used.contains(op.node())) return;
    if (form == ExportForm::fake_quantize && op.is<ops::FakeQuantize>()) {
      nodes.add_fake_quantize(op);
    } else if (form == ExportForm::pairs && op.is<ops::FakeQuantize>()) {
      nodes.add_pair(op);
    } else if (trait_of(op) == Trait::quantizer) {
      nodes.alias(op.out(0), op.in(0));
    } else {
      nodes.add(op);
    }
  };
  nodes.write_inner_by(add);
  for (const Op op : graph.ops()) add(op);
}

void check_opset(const ExportOptions& options) {
  const bool newest_is_known = options.opset <= kNewestExportOpset;
  if (options.opset < kOldestExportOpset || !newest_is_known)
    fail(errors::export_opset_out_of_range(options.opset, kOldestExportOpset, kNewestExportOpset));
}

proto::Model message_at(const std::filesystem::path& path) {
  proto::Model model;
  if (!model.ParseFromString(io::read_text_file(path)) || !model.has_graph())
    fail(errors::not_onnx_model(path.string(), "graph"));
  return model;
}

std::set<std::string> results_of(const proto::Graph& graph) {
  std::set<std::string> names;
  for (const proto::Node& node : graph.node()) names.insert(node.output().begin(), node.output().end());
  return names;
}

}  // namespace

ExportedFile export_model(const Model& model, const ExportOptions& options, const std::string& data_name) {
  check_opset(options);
  NodeExporter nodes(model, options);
  ExportedFile file;
  if (options.form != ExportForm::qdq && options.form != ExportForm::qoperator) {
    add_float_network(nodes, options.form);
  } else {
    file.report.approximated = add_integer_program(nodes, options);
  }
  nodes.add_outputs();
  file.report.nodes = nodes.writer().nodes();
  file.message = nodes.writer().finish(options.external_above, data_name, file.data);
  return file;
}

ExportReport export_file(const Model& model, const ExportOptions& options, const std::filesystem::path& path) {
  std::filesystem::path data_path = path;
  data_path += ".data";
  const ExportedFile file = export_model(model, options, data_path.filename().string());
  std::vector<io::NewFile> files;
  if (!file.data.empty()) files.push_back({data_path, std::as_bytes(std::span(file.data))});
  files.push_back({path, std::as_bytes(std::span(file.message))});  // last, because it must not refer to a missing file
  io::write_files(files);
  return file.report;
}

void add_outputs(const std::filesystem::path& path, const std::filesystem::path& like) {
  proto::Model model = message_at(path);
  proto::Graph& graph = *model.mutable_graph();
  for (const proto::TensorData& tensor : graph.initializer()) {
    if (tensor.data_location() == kExternalData) fail(errors::tensor_in_other_file(path.string(), tensor.name()));
  }
  const std::set<std::string> results = results_of(graph);
  std::set<std::string> present;
  for (const proto::ValueInfo& output : graph.output()) present.insert(output.name());
  const proto::Model wanted = message_at(like);
  for (const proto::ValueInfo& output : wanted.graph().output()) {
    if (!results.contains(output.name())) fail(errors::value_not_in_export(path.string(), output.name()));
    if (!present.contains(output.name())) *graph.add_output() = output;
  }
  io::write_file(like, model.SerializeAsString());
}

}  // namespace halfstep::formats::onnx
