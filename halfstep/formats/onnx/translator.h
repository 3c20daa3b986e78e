// Node by node from an ONNX graph to ours; what the functions in formats/onnx/ops are written with.
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
  /// With `survey` nothing is refused but noted there, and the model is worthless.
  Translator(const OnnxFile& file, const Binding& binding, Model& model, Coverage* survey);

  /// The whole file, once.
  void run();

  // ---- for the functions in ops/

  /// Nothing where the node has no such input.
  Operand in(const Node& node, size_t i);
  std::vector<Operand> inputs(const Node& node);
  void set(const Node& node, size_t output, Operand operand);
  void set_all(const Node& node, const std::vector<Operand>& operands);

  /// As the `foreign` entries of the records say; results by output of the node.
  std::vector<Operand> by_record(const Node& node, const std::vector<Operand>& inputs);
  void by_record(const Node& node) { set_all(node, by_record(node, inputs(node))); }

  /// The nodes of a graph inside, whose inputs stand for `arguments`; its outputs.
  std::vector<Operand> inline_graph(const Node& node, const proto::Graph& graph, const std::vector<Operand>& arguments);
  const proto::Graph& graph_of(const Node& node, std::string_view attribute) const;

  const OnnxFile& file() const { return file_; }
  /// In a survey: its outputs are results of what is not supported.
  void lose(const Node& node);

 private:
  class Call;

  void add_inputs(const proto::Graph& graph);
  void add_initializers(const proto::Graph& graph);
  void set_outputs(const proto::Graph& graph);
  void translate_all(const google::protobuf::RepeatedPtrField<proto::Node>& nodes);
  Node node_of(const proto::Node& node) const;
  /// Refuses the node whose graph or function is one too many inside each other.
  void require_nesting(const Node& node) const;
  /// Refuses a node whose operator is not there.
  void look_up(const Node& node) const;
  void translate(const Node& node);
  void translate_one(const Node& node);
  bool translate_elements(const Node& node);
  bool inline_function(const Node& node);
  /// The outputs of a function of the file for the node's inputs.
  std::vector<Operand> results_of(const Node& node, const proto::Function& function);
  Operand lookup(const std::string& name, const std::string& where);
  void define(const std::string& name, Operand operand, const std::string& where);
  bool lost_input(const Node& node);

  const OnnxFile& file_;
  Scopes scopes_;
  const std::map<std::string, int64_t>* opsets_;
  AttributeValues call_;  ///< attributes of the function around
  std::map<std::pair<std::string, std::string>, const proto::Function*> functions_;
};

/// The result of an operator on whole numbers of which some are unknown; nothing where the operator, or its operands,
/// are not of that kind.
std::optional<Elements> fold_elements(const Node& node, const std::vector<Operand>& inputs);

}  // namespace halfstep::formats::onnx
