// The message of an ONNX model under construction.
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

/// Write a type, contents or an attribute to a message. kUnknown as the first extent is called "batch", except in a
/// nested graph.
void write_type(const std::string& name, const Type& type, proto::ValueInfo& to, bool is_inside = false);
void write_tensor(const std::string& name, const Tensor& contents, proto::TensorData& to);
void write_attribute(const std::string& name, const Attribute& value, proto::NodeAttribute& to);

/// Returns the IR version that was released with an opset.
int64_t ir_version_of(int64_t opset);

/// Description of a node before it is written.
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

  /// Returns `hint`, with a number appended if it is taken, and marks the result as taken.
  std::string unique(const std::string& hint);
  void add_input(const std::string& name, const Type& type);
  void add_output(const std::string& name, const Type& type);
  /// Returns the name of the tensor.
  std::string add_tensor(const std::string& hint, const Tensor& contents);
  /// Builds a nested graph from the inputs, outputs and nodes that `fill` adds. Its tensors are added to the main
  /// graph.
  proto::Graph graph_inside(const std::string& name, const std::function<void()>& fill);
  /// Appends a number to the name if another node has it, because runtimes reject duplicate names.
  void add_node(const NodeText& node);

  /// Returns the file. If tensors have more than `external_above` bytes in total, they go to `data`, which the message
  /// refers to as `data_name`.
  std::string finish(size_t external_above, const std::string& data_name, std::vector<std::byte>& data);

 private:
  void move_tensors(const std::string& data_name, std::vector<std::byte>& data);
  proto::Model model_;
  proto::Graph* graph_;  ///< graph that is currently written
  int64_t opset_;
  std::set<std::string> names_, node_names_;
  std::set<std::string> domains_;
  size_t tensor_bytes_ = 0;
};

}  // namespace halfstep::formats::onnx
