#include "halfstep/formats/onnx/import.h"

#include <algorithm>
#include <set>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"
#include "halfstep/ir/verify.h"

namespace halfstep::formats::onnx {
namespace {

/// "" for a tensor, and for a value whose type the file does not say.
std::string other_type(const proto::ValueType& type) {
  if (type.has_sequence_type()) return "sequence";
  if (type.has_map_type()) return "map";
  if (type.has_optional_type()) return "optional";
  return type.has_sparse_tensor_type() ? "sparse tensor" : "";
}

Port port_of(const proto::ValueInfo& info) {
  Port port{info.name(), other_type(info.type()), {}, false, false};
  port.is_tensor = port.type.empty();
  if (!port.is_tensor) return port;
  if (!info.type().has_tensor_type()) {
    port.type = "of no stated type";
    return port;
  }
  const auto& tensor = info.type().tensor_type();
  std::string extents;
  for (const proto::Shape::Dimension& dim : tensor.shape().dim()) {
    port.dims.push_back(dim.has_dim_value() ? dim.dim_value() : kUnknown);
    const std::string shown = dim.has_dim_value()   ? std::to_string(dim.dim_value())
                              : dim.has_dim_param() ? dim.dim_param()
                                                    : "?";
    extents += (extents.empty() ? "" : ", ") + shown;
  }
  port.type = onnx_type_name(tensor.elem_type()) + (tensor.has_shape() ? "[" + extents + "]" : "");
  return port;
}

void count_nodes(const google::protobuf::RepeatedPtrField<proto::Node>& nodes, Summary& summary) {
  for (const proto::Node& node : nodes) {
    ++summary.nodes;
    const std::string domain = plain_domain(node.domain());
    ++summary.operators[domain.empty() ? node.op_type() : domain + "." + node.op_type()];
    for (const proto::NodeAttribute& a : node.attribute()) {
      if (a.has_g()) count_nodes(a.g().node(), summary);  // depth is limited by the wire walker
    }
  }
}

void count_parameters(const proto::Graph& graph, Summary& summary) {
  for (const proto::TensorData& tensor : graph.initializer()) {
    int64_t count = 1;
    for (const int64_t extent : tensor.dims()) {
      if (extent < 0 || __builtin_mul_overflow(count, extent, &count)) count = 0;
    }
    const auto dtype = find_dtype(tensor.data_type());
    int64_t bits = 0;
    if (dtype && !__builtin_mul_overflow(count, bits_of(*dtype), &bits)) summary.parameter_bytes += bits / 8;
    summary.parameters += count;
  }
}

void erase_unused_tensors(Model& model) {
  for (const Value tensor : model.graph.tensors()) {
    if (!tensor.unused()) continue;
    model.tensors.erase(tensor.name());
    model.graph.erase_tensor(tensor.name());
  }
}

}  // namespace

std::shared_ptr<const OnnxFile> open(const std::filesystem::path& path) { return OnnxFile::open(path); }

std::shared_ptr<const OnnxFile> parse(std::span<const std::byte> bytes, const std::string& name) {
  return OnnxFile::parse(bytes, name);
}

bool Coverage::complete() const {
  return std::all_of(issues.begin(), issues.end(), [](const Issue& i) { return i.needs_values; });
}

Summary summarize(const OnnxFile& file) {
  const proto::Model& model = file.model();
  Summary summary;
  summary.producer = model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
  summary.ir_version = model.ir_version();
  summary.opsets = file.opsets();
  std::set<std::string> initialized;
  for (const proto::TensorData& tensor : file.graph().initializer()) initialized.insert(tensor.name());
  for (const proto::ValueInfo& input : file.graph().input()) {
    summary.inputs.push_back(port_of(input));
    summary.inputs.back().has_default = initialized.contains(input.name());
  }
  for (const proto::ValueInfo& output : file.graph().output()) summary.outputs.push_back(port_of(output));
  count_nodes(file.graph().node(), summary);
  for (const proto::Function& function : model.functions()) count_nodes(function.node(), summary);
  count_parameters(file.graph(), summary);
  return summary;
}

Coverage coverage(const OnnxFile& file, const Binding& binding) {
  Model model;
  Coverage found;
  Translator(file, binding, model, &found).run();
  return found;
}

Model import(const OnnxFile& file, const Binding& binding) {
  Model model;
  const std::string& name = file.graph().name();
  model.graph.set_name(name.empty() ? "graph" : name);
  Translator(file, binding, model, nullptr).run();
  erase_unused_tensors(model);
  verify(model.graph);
  check(model);
  return model;
}

}  // namespace halfstep::formats::onnx
