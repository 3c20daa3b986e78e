// Writes operators of Halfstep's graph as nodes of an ONNX graph.
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

/// Assigns names of values, and writes nodes by the `foreign` entries of records, applied backwards. Functions write
/// operators for which entries are not enough.
class NodeExporter {
 public:
  NodeExporter(const Model& model, const ExportOptions& options);

  GraphWriter& writer() { return writer_; }
  const Tensor& contents(Value tensor) const { return model_.tensors.at(tensor.name()); }
  const Model& model() const { return model_; }

  /// Returns the name of a value in the file. A tensor becomes an initializer at its first use.
  std::string name(Value value);
  /// Makes `value` refer to `same`, for an omitted quantizer.
  void alias(Value value, Value same);
  /// Sets the writer of operators in regions. The default is `add`.
  void write_inner_by(std::function<void(Op)> write) { write_inner_ = std::move(write); }
  /// Adds the node for `op`. Attributes that are inputs in ONNX become tensors.
  void add(Op op);
  /// Adds a quantizer as QuantizeLinear and DequantizeLinear, after a clamp if its type has more codes than the
  /// quantizer.
  void add_pair(Op op);
  /// Adds a quantizer as OpenVINO's FakeQuantize. Weights of 7 bits are written as 8 bits with twice the range, which
  /// OpenVINO recognizes as integers.
  void add_fake_quantize(Op op);
  /// Adds integers as an initializer.
  std::string integers(const std::string& hint, const std::vector<int64_t>& values);
  /// Adds the outputs, with nodes for outputs that have no separate name.
  void add_outputs();

 private:
  void reserve_names();
  /// Adds the real values of a quantizer's code as an initializer that broadcasts over the quantized value.
  std::string floats_of(Op quantizer, const char* what, int64_t code);
  /// Adds a branch, loop or scan with its graphs. A call is inlined (export_flow.cpp).
  void add_flow(Op op);
  proto::Graph branch(Op op, const Block& region);
  proto::Graph body(Op op);
  void add_outputs_of(const Block& region);
  /// `always` names an attribute that is written even if it has ONNX's default. `more` are attributes that Halfstep
  /// does not have.
  void add_by_record(Op op, std::string_view always = {}, const Attributes& more = {});
  void add_linear(Op op);
  void add_top_k(Op op);
  void add_recurrent(Op op);
  void add_grid_sample(Op op);
  void add_reshape(Op op);
  void add_reshape_by(Op op);
  void add_matmul(Op op);
  void add_window(Op op, const std::string& foreign);
  void add_positions(Op op);
  /// Returns the extent of a value as a list of one.
  std::string extent_of(Op op, Value value, int64_t axis);
  void add_clip(Op op, double lowest, double highest);
  void add_affine_power(Op op);
  void add_mask_fill(Op op);
  void add_silu(Op op);
  void add_gelu(Op op);
  void add_layer_norm(Op op);
  void add_group_norm(Op op);
  /// Throws if the opset is older than ONNX's operator.
  void require_opset(Op op, int64_t since) const;
  /// Returns a node with the first input and the first output.
  NodeText node_of(Op op, const std::string& foreign);

  const Model& model_;
  const ExportOptions& options_;
  GraphWriter writer_;
  std::function<void(Op)> write_inner_ = [this](Op op) { add(op); };
  std::map<const detail::ValueNode*, std::string> names_;
  std::map<const detail::ValueNode*, std::string> reserved_;  ///< outputs whose names replace the names of their values
};

/// Writes an integer program in either form on codes. Returns the operators that it approximated.
std::vector<std::string> add_integer_program(NodeExporter& nodes, const ExportOptions& options);

}  // namespace halfstep::formats::onnx
