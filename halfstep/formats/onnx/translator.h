// Translates an ONNX graph to Halfstep's graph, node by node. Also the interface for the functions in
// formats/onnx/ops/.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/builder/builder.h"
#include "halfstep/formats/builder/record_form.h"
#include "halfstep/formats/builder/scopes.h"
#include "halfstep/formats/onnx/node.h"
#include "halfstep/formats/onnx/onnx_file.h"

namespace halfstep::formats::onnx {

class Translator : public Builder {
 public:
  /// With `survey`, unsupported nodes are recorded there instead of rejected, and the model is not usable.
  Translator(const OnnxFile& file, const Binding& binding, Model& model, Coverage* survey);

  /// Translates the whole file. Call it once.
  void run();

  // ---- for the functions in ops/

  /// Returns an absent operand if the node has no such input.
  Operand in(const Node& node, size_t i);
  std::vector<Operand> inputs(const Node& node);
  void set(const Node& node, size_t output, Operand operand);
  void set_all(const Node& node, const std::vector<Operand>& operands);

  /// Translates by the `foreign` entries of the records. Results are by output of the node.
  std::vector<Operand> by_record(const Node& node, const std::vector<Operand>& inputs);
  void by_record(const Node& node) { set_all(node, by_record(node, inputs(node))); }

  /// Translates the nodes of a nested graph with `arguments` as its inputs. Returns its outputs.
  std::vector<Operand> inline_graph(const Node& node, const proto::Graph& graph, const std::vector<Operand>& arguments);
  const proto::Graph& graph_of(const Node& node, std::string_view attribute) const;

  const OnnxFile& file() const { return file_; }
  /// Marks the outputs as results of an unsupported node in a survey.
  void lose(const Node& node);

 private:
  class Call;

  void add_inputs(const proto::Graph& graph);
  void add_initializers(const proto::Graph& graph);
  void set_outputs(const proto::Graph& graph);
  void translate_all(const google::protobuf::RepeatedPtrField<proto::Node>& nodes);
  Node node_of(const proto::Node& node) const;
  /// Rejects a node whose graph or function exceeds the nesting limit.
  void require_nesting(const Node& node) const;
  /// Rejects a node whose operator is unknown.
  void look_up(const Node& node) const;
  void translate(const Node& node);
  void translate_one(const Node& node);
  bool translate_elements(const Node& node);
  bool inline_function(const Node& node);
  /// Returns the outputs of a function of the file for the node's inputs.
  std::vector<Operand> results_of(const Node& node, const proto::Function& function);
  Operand lookup(const std::string& name, const std::string& where);
  void define(const std::string& name, Operand operand, const std::string& where);
  bool lost_input(const Node& node);

  const OnnxFile& file_;
  Scopes scopes_;
  const std::map<std::string, int64_t>* opsets_;
  AttributeValues call_;  ///< attributes of the enclosing function
  std::map<std::pair<std::string, std::string>, const proto::Function*> functions_;
};

/// Computes an operator on integers that may be partly unknown. Returns nothing for other operators or operands.
std::optional<Elements> fold_elements(const Node& node, const std::vector<Operand>& inputs);

}  // namespace halfstep::formats::onnx
