// ONNX models built in a test, and helpers for tensors in their messages.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "halfstep/formats/onnx/onnx_file.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx::test {

inline std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

inline proto::NodeAttribute attribute(const std::string& name, int64_t value) {
  proto::NodeAttribute a;
  a.set_name(name);
  a.set_type(2);
  a.set_i(value);
  return a;
}
inline proto::NodeAttribute attribute(const std::string& name, std::vector<int64_t> values) {
  proto::NodeAttribute a;
  a.set_name(name);
  a.set_type(7);
  a.mutable_ints()->Add(values.begin(), values.end());
  return a;
}
inline proto::NodeAttribute attribute(const std::string& name, const std::string& value) {
  proto::NodeAttribute a;
  a.set_name(name);
  a.set_type(3);
  a.set_s(value);
  return a;
}
inline proto::NodeAttribute attribute(const std::string& name, const proto::Graph& graph) {
  proto::NodeAttribute a;
  a.set_name(name);
  a.set_type(5);
  *a.mutable_g() = graph;
  return a;
}

/// Nodes of a graph or function. "" in a list of names is an omitted operand.
class Nodes {
 public:
  explicit Nodes(google::protobuf::RepeatedPtrField<proto::Node>* nodes) : nodes_(nodes) {}
  proto::Node& add(const std::string& op, std::vector<std::string> in, std::vector<std::string> out,
                   std::vector<proto::NodeAttribute> attributes = {}) {
    proto::Node& node = *nodes_->Add();
    node.set_op_type(op);
    node.mutable_input()->Add(in.begin(), in.end());
    node.mutable_output()->Add(out.begin(), out.end());
    node.mutable_attribute()->Add(attributes.begin(), attributes.end());
    return node;
  }

 private:
  google::protobuf::RepeatedPtrField<proto::Node>* nodes_;
};

/// Stores the elements as raw_data.
template <class T>
proto::TensorData tensor_data(const std::string& name, int type, std::vector<int64_t> dims,
                              const std::vector<T>& values) {
  proto::TensorData tensor;
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  tensor.set_raw_data(values.data(), values.size() * sizeof(T));
  return tensor;
}
inline proto::TensorData floats(const std::string& name, std::vector<int64_t> dims, const std::vector<float>& values) {
  return tensor_data(name, 1, std::move(dims), values);
}
inline proto::TensorData integers(const std::string& name, std::vector<int64_t> dims,
                                  const std::vector<int64_t>& values) {
  return tensor_data(name, 7, std::move(dims), values);
}

/// -1 is a dynamic dimension.
inline void set_type(proto::ValueInfo& info, const std::string& name, int type, std::vector<int64_t> dims) {
  info.set_name(name);
  auto& tensor = *info.mutable_type()->mutable_tensor_type();
  tensor.set_elem_type(type);
  tensor.mutable_shape();
  for (const int64_t dim : dims) {
    auto& one = *tensor.mutable_shape()->add_dim();
    dim < 0 ? one.set_dim_param("n") : one.set_dim_value(dim);
  }
}

struct ModelText {
  proto::Model model;
  explicit ModelText(int64_t opset = 18) {
    model.set_ir_version(10);
    model.set_producer_name("test");
    import_domain("", opset);
    model.mutable_graph()->set_name("net");
  }
  void import_domain(const std::string& domain, int64_t version) {
    auto& opset = *model.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  proto::Graph& graph() { return *model.mutable_graph(); }
  proto::Node& add(const std::string& op, std::vector<std::string> in, std::vector<std::string> out,
                   std::vector<proto::NodeAttribute> attributes = {}) {
    return Nodes(graph().mutable_node()).add(op, std::move(in), std::move(out), std::move(attributes));
  }
  void add_tensor(const proto::TensorData& tensor) { *graph().add_initializer() = tensor; }
  void input(const std::string& name, std::vector<int64_t> dims, int type = 1) {
    onnx::test::set_type(*graph().add_input(), name, type, std::move(dims));
  }
  void output(const std::string& name) { graph().add_output()->set_name(name); }
  std::string text() const { return model.SerializeAsString(); }
};

}  // namespace halfstep::formats::onnx::test
