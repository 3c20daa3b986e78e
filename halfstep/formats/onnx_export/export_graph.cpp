#include "halfstep/formats/onnx_export/export_graph.h"

#include <array>

#include "halfstep/core/base/divide.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/tensor_data.h"
#include "halfstep/formats/onnx_export/errors.h"

namespace halfstep::formats::onnx {
namespace {

/// Numbers of AttributeProto.AttributeType.
enum AttributeType : int32_t { kFloat = 1, kInt = 2, kString = 3, kGraph = 5, kFloats = 6, kInts = 7, kStrings = 8 };

struct AttributeWriter {
  proto::NodeAttribute& to;

  void operator()(bool value) const { (*this)(int64_t{value}); }
  void operator()(int64_t value) const {
    to.set_type(kInt);
    to.set_i(value);
  }
  void operator()(double value) const {
    to.set_type(kFloat);
    to.set_f(static_cast<float>(value));
  }
  void operator()(const std::string& value) const {
    to.set_type(kString);
    to.set_s(value);
  }
  void operator()(const std::vector<int64_t>& values) const {
    to.set_type(kInts);
    for (const int64_t value : values) to.add_ints(value);
  }
  void operator()(const std::vector<double>& values) const {
    to.set_type(kFloats);
    for (const double value : values) to.add_floats(static_cast<float>(value));
  }
  void operator()(const std::vector<std::string>& values) const {
    to.set_type(kStrings);
    for (const std::string& value : values) to.add_strings(value);
  }
};

/// Alignment of each tensor in an external file, so that it can be mapped.
constexpr size_t kExternalAlignment = 4096;
/// Smaller tensors stay in the message, where shape inference can read them.
constexpr size_t kSmallTensor = 1024;

/// Returns `hint`, with a number appended if it is taken, and marks the result as taken.
std::string unique_among(std::set<std::string>& taken, const std::string& hint) {
  std::string name = hint;
  for (int number = 2; !taken.insert(name).second; ++number) name = hint + "." + std::to_string(number);
  return name;
}

void add_entry(proto::TensorData& tensor, const std::string& key, const std::string& value) {
  proto::Entry& entry = *tensor.add_external_data();
  entry.set_key(key);
  entry.set_value(value);
}

}  // namespace

/// Versions from onnx's release table.
int64_t ir_version_of(int64_t opset) {
  struct Release {
    int64_t opset, ir_version;
  };
  constexpr std::array<Release, 7> kReleases = {{{25, 13}, {24, 12}, {23, 11}, {21, 10}, {19, 9}, {15, 8}, {13, 7}}};
  for (const Release& release : kReleases) {
    if (opset >= release.opset) return release.ir_version;
  }
  return kReleases.back().ir_version;
}

void write_type(const std::string& name, const Type& type, proto::ValueInfo& to, bool is_inside) {
  to.set_name(name);
  auto& tensor = *to.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(static_cast<int32_t>(onnx_type_of(type.dtype)));
  proto::Shape& shape = *tensor.mutable_shape();
  for (size_t axis = 0; axis < type.dims.size(); ++axis) {
    proto::Shape::Dimension& dim = *shape.add_dim();
    if (type.dims[axis] != kUnknown) {
      dim.set_dim_value(type.dims[axis]);
    } else {
      dim.set_dim_param(axis == 0 && !is_inside ? "batch" : name + "." + std::to_string(axis));
    }
  }
}

void write_tensor(const std::string& name, const Tensor& contents, proto::TensorData& to) {
  to.set_name(name);
  to.set_data_type(static_cast<int32_t>(onnx_type_of(contents.dtype())));
  for (const int64_t dim : contents.dims()) to.add_dims(dim);
  const Tensor bytes = bits_of(contents.dtype()) < 8 ? io::pack(contents) : contents;
  to.set_raw_data(bytes.raw(), bytes.bytes());
}

void write_attribute(const std::string& name, const Attribute& value, proto::NodeAttribute& to) {
  to.set_name(name);
  std::visit(AttributeWriter{to}, value);
}

GraphWriter::GraphWriter(const std::string& name, int64_t opset) : graph_(model_.mutable_graph()), opset_(opset) {
  model_.set_ir_version(ir_version_of(opset));
  model_.set_producer_name("halfstep");
  graph_->set_name(name);
}

std::string GraphWriter::unique(const std::string& hint) { return unique_among(names_, hint); }

void GraphWriter::add_input(const std::string& name, const Type& type) {
  write_type(name, type, *graph_->add_input(), graph_ != model_.mutable_graph());
}

void GraphWriter::add_output(const std::string& name, const Type& type) {
  write_type(name, type, *graph_->add_output(), graph_ != model_.mutable_graph());
}

std::string GraphWriter::add_tensor(const std::string& hint, const Tensor& contents) {
  std::string name = unique(hint);
  proto::TensorData& tensor = *model_.mutable_graph()->add_initializer();
  write_tensor(name, contents, tensor);
  tensor_bytes_ += tensor.raw_data().size();
  return name;
}

void GraphWriter::add_node(const NodeText& node) {
  proto::Node& to = *graph_->add_node();
  to.set_op_type(node.op);
  to.set_name(unique_among(node_names_, node.name));
  if (!node.domain.empty()) to.set_domain(node.domain);
  domains_.insert(node.domain);
  for (const std::string& input : node.inputs) to.add_input(input);
  for (const std::string& output : node.outputs) to.add_output(output);
  for (const auto& [name, value] : node.attributes) write_attribute(name, value, *to.add_attribute());
  for (const auto& [name, graph] : node.graphs) {
    proto::NodeAttribute& attribute = *to.add_attribute();
    attribute.set_name(name);
    attribute.set_type(kGraph);
    *attribute.mutable_g() = graph;
  }
}

proto::Graph GraphWriter::graph_inside(const std::string& name, const std::function<void()>& fill) {
  proto::Graph graph;
  graph.set_name(name);
  proto::Graph* const outer = std::exchange(graph_, &graph);
  fill();
  graph_ = outer;
  return graph;
}

void GraphWriter::move_tensors(const std::string& data_name, std::vector<std::byte>& data) {
  for (proto::TensorData& tensor : *model_.mutable_graph()->mutable_initializer()) {
    const std::string& bytes = tensor.raw_data();
    if (bytes.size() < kSmallTensor) continue;
    data.resize(round_up(data.size(), kExternalAlignment));
    add_entry(tensor, "location", data_name);
    add_entry(tensor, "offset", std::to_string(data.size()));
    add_entry(tensor, "length", std::to_string(bytes.size()));
    tensor.set_data_location(kExternalData);
    const auto* first = reinterpret_cast<const std::byte*>(bytes.data());
    data.insert(data.end(), first, first + bytes.size());
    tensor.clear_raw_data();
  }
}

std::string GraphWriter::finish(size_t external_above, const std::string& data_name, std::vector<std::byte>& data) {
  domains_.insert("");
  for (const std::string& domain : domains_) {
    proto::OperatorSet& set = *model_.add_opset_import();
    set.set_domain(domain);
    set.set_version(domain.empty() ? opset_ : 1);
  }
  if (tensor_bytes_ > external_above) move_tensors(data_name, data);
  std::string message;
  if (!model_.SerializeToString(&message)) fail(errors::export_message_too_large());
  return message;
}

}  // namespace halfstep::formats::onnx
