// The message of an ONNX model while it is being made.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halfstep/core/base/attribute.h"
#include "halfstep/core/base/tensor.h"
#include "onnx.pb.h"

namespace halfstep::formats::onnx {

/// The parts of a message that say a type, contents and an attribute. kUnknown as the first extent is called "batch",
/// unless the value is of a graph inside.
void write_type(const std::string& name, const Type& type, proto::ValueInfo& to, bool is_inside = false);
void write_tensor(const std::string& name, const Tensor& contents, proto::TensorData& to);
void write_attribute(const std::string& name, const Attribute& value, proto::NodeAttribute& to);

/// The IR version that came with an opset.
int64_t ir_version_of(int64_t opset);

/// A node as its maker says it.
struct NodeText {
  std::string op, name;
  std::vector<std::string> inputs, outputs;
  Attributes attributes = {};
  std::string domain = {};                                        ///< "" is ONNX's own
  std::vector<std::pair<std::string, proto::Graph>> graphs = {};  ///< attributes that are graphs
};

class GraphWriter {
 public:
  GraphWriter(const std::string& name, int64_t opset);

  int64_t opset() const { return opset_; }
  int64_t nodes() const { return model_.graph().node_size(); }

  /// `hint`, or with a number behind it where that is taken; taken from then on.
  std::string unique(const std::string& hint);
  void add_input(const std::string& name, const Type& type);
  void add_output(const std::string& name, const Type& type);
  /// Returns its name.
  std::string add_tensor(const std::string& hint, const Tensor& contents);
  /// A graph inside a node: the inputs, outputs and nodes that `fill` adds. Tensors become those of the whole.
  proto::Graph graph_inside(const std::string& name, const std::function<void()>& fill);
  /// Its name gets a number where another node has it: runtimes refuse two nodes of one name.
  void add_node(const NodeText& node);

  /// The file. Tensors go to `data` when they have more than `external_above` bytes together; the message then calls
  /// it `data_name`.
  std::string finish(size_t external_above, const std::string& data_name, std::vector<std::byte>& data);

 private:
  void move_tensors(const std::string& data_name, std::vector<std::byte>& data);
  proto::Model model_;
  proto::Graph* graph_;  ///< the one that is being written
  int64_t opset_;
  std::set<std::string> names_, node_names_;
  std::set<std::string> domains_;
  size_t tensor_bytes_ = 0;
};

}  // namespace halfstep::formats::onnx
