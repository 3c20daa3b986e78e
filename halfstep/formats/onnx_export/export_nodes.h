// Operators of our graph as nodes of an ONNX graph.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halfstep/formats/onnx_export/export_graph.h"
#include "halfstep/formats/onnx_export/onnx_writer.h"

namespace halfstep::formats::onnx {

/// Names of values, and nodes for operators that ONNX has as they are: by the `foreign` entries of their records, read
/// backwards, or by a function where those cannot say it.
class NodeExporter {
 public:
  NodeExporter(const Model& model, const ExportOptions& options);

  GraphWriter& writer() { return writer_; }
  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }
  const Model& model() const { return model_; }

  /// The name of a value in the file; a tensor becomes an initializer when it is asked for first.
  std::string name(Value value);
  /// `value` is what `same` is: a quantizer that is left out.
  void alias(Value value, Value same);
  /// How operators in regions are written; without it as `add` writes them.
  void write_inner_by(std::function<void(Op)> write) { write_inner_ = std::move(write); }
  /// The node for `op`, and for what the record has as attributes and ONNX as inputs.
  void add(Op op);
  /// A quantizer as QuantizeLinear and DequantizeLinear, behind bounds where its type has more codes than it.
  void add_pair(Op op);
  /// A quantizer as the FakeQuantize of OpenVINO. Weights of 7 bits say 8 with a range of twice the width, which is how
  /// OpenVINO knows them for integers.
  void add_fake_quantize(Op op);
  /// Whole numbers as an initializer.
  std::string integers(const std::string& hint, const std::vector<int64_t>& values);
  /// Nodes for outputs that have no name of their own, and the outputs themselves.
  void add_outputs();

 private:
  void reserve_names();
  /// The reals of a code of a quantizer as an initializer that broadcasts over what it quantizes.
  std::string reals_of(Op quantizer, const char* what, int64_t code);
  /// A branch, loop or scan with its graphs; a call is what it calls (export_flow.cpp).
  void add_flow(Op op);
  proto::Graph branch(Op op, const Block& region);
  proto::Graph body(Op op);
  void add_outputs_of(const Block& region);
  /// `always` names an attribute that is written even where ONNX means it; `more` are attributes that we do not have.
  void add_by_record(Op op, std::string_view always = {}, const Attributes& more = {});
  void add_linear(Op op);
  void add_top_k(Op op);
  void add_recurrent(Op op);
  void add_grid_sample(Op op);
  void add_reshape(Op op);
  void add_reshape_by(Op op);
  void add_positions(Op op);
  /// The extent of a value as a list of one.
  std::string extent_of(Op op, Value value, int64_t axis);
  void add_clip(Op op, double lowest, double highest);
  void add_silu(Op op);
  void add_gelu(Op op);
  void add_layer_norm(Op op);
  void add_group_norm(Op op);
  /// Throws where the opset is older than ONNX's operator.
  void require_opset(Op op, int64_t since) const;
  /// With the first input and the first output.
  NodeText node_of(Op op, const std::string& foreign);

  const Model& model_;
  const ExportOptions& options_;
  GraphWriter writer_;
  std::function<void(Op)> write_inner_ = [this](Op op) { add(op); };
  std::map<const detail::ValueNode*, std::string> names_;
  std::map<const detail::ValueNode*, std::string> reserved_;  ///< outputs that give their value its name
};

/// An integer program in either form on codes; returns the operators that it approximated.
std::vector<std::string> add_integer_program(NodeExporter& nodes, const ExportOptions& options);

}  // namespace halfstep::formats::onnx
