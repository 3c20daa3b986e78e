// Node by node from an ONNX graph to ours; what the functions in formats/onnx/ops are written with.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/onnx/file.h"
#include "halfstep/formats/onnx/import.h"
#include "halfstep/formats/onnx/node.h"
#include "halfstep/formats/onnx/operand.h"

namespace halfstep::formats::onnx {

/// What is missing can be had: by giving inputs, or extents.
class NeedsValues : public Error {
 public:
  explicit NeedsValues(const std::string& message) : Error(ErrorKind::unsupported, message) {}
};
class NeedsExtents : public Error {
 public:
  explicit NeedsExtents(const std::string& message) : Error(ErrorKind::unsupported, message) {}
};

class Translator {
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

  /// Contents, computed where they are not known. Throws NeedsValues, NeedsExtents.
  Tensor contents(const Operand& operand);
  std::vector<int64_t> integers(const Node& node, const Operand& operand);

  /// One of our operators on operands by flat position; results by port. Computed at once where all is known.
  std::vector<Operand> make(const Node& node, std::string_view op, std::vector<Operand> operands,
                            Attributes attributes = {});
  /// The only result.
  Operand make_one(const Node& node, std::string_view op, std::vector<Operand> operands, Attributes attributes = {});
  /// As the `foreign` entries of the records say; results by output of the node.
  std::vector<Operand> by_record(const Node& node, const std::vector<Operand>& inputs);
  void by_record(const Node& node) { set_all(node, by_record(node, inputs(node))); }
  /// Under other extents; 0 keeps one, -1 is worked out.
  Operand reshaped(const Node& node, const Operand& operand, Dims dims);
  static Operand known(Tensor tensor, std::string name = {});

  /// The nodes of a graph inside, whose inputs stand for `arguments`; its outputs.
  std::vector<Operand> inline_graph(const Node& node, const proto::Graph& graph, const std::vector<Operand>& arguments);
  const proto::Graph& graph_of(const Node& node, std::string_view attribute) const;

  [[noreturn]] static void refuse(const Node& node, const std::string& reason);
  const OnnxFile& file() const { return file_; }
  bool surveys() const { return survey_ != nullptr; }
  /// In a survey: what a node lacks; its outputs are lost.
  void note(const Node& node, const Error& error);
  void lose(const Node& node);

 private:
  struct Entry {
    Operand operand;
    const proto::TensorData* pending = nullptr;  ///< an initializer that nobody has read yet
  };
  struct Scope {
    std::map<std::string, Entry, std::less<>> names;
    bool closed = false;  ///< names of the scopes around are not seen: a function's
  };

  void add_inputs(const proto::Graph& graph);
  void add_input(const proto::ValueInfo& input);
  void add_initializers(const proto::Graph& graph);
  void set_outputs(const proto::Graph& graph);
  void translate_all(const google::protobuf::RepeatedPtrField<proto::Node>& nodes);
  void translate(const Node& node);
  void translate_one(const Node& node);
  bool translate_elements(const Node& node);
  bool inline_function(const Node& node);
  Operand lookup(const std::string& name, const std::string& where);
  void define(const std::string& name, Operand operand, const std::string& where);
  bool lost_input(const Node& node);
  bool is_supported(const Node& node) const;

  Value value_of(const Operand& operand);
  std::vector<Operand> compute(const OpInfo& info, const Attributes& attributes, const std::vector<Operand>& operands);
  std::vector<Operand> insert(const Node& node, const OpInfo& info, const std::vector<Operand>& operands,
                              Attributes attributes);
  /// Contents of a value of our graph, by running what it comes from, each operation once.
  Tensor evaluated(Value value);
  Tensor leaf_contents(Value value) const;
  void evaluate_op(Op op);

  const OnnxFile& file_;
  const Binding& binding_;
  Model& model_;
  Coverage* survey_;
  std::vector<Scope> scopes_;
  const std::map<std::string, int64_t>* opsets_;
  AttributeValues call_;  ///< attributes of the function around
  std::map<std::pair<std::string, std::string>, const proto::Function*> functions_;
  std::map<std::pair<const void*, std::string>, Value> tensors_;  ///< by memory and type
  std::map<const detail::ValueNode*, Tensor> contents_;           ///< of values that were computed
  std::set<std::string> made_;                                    ///< operations that the node at hand has made
  int depth_ = 0, number_ = 0;
  int64_t translated_ = 0;
  int64_t names_ = 0;
  size_t made_bytes_ = 0;
};

/// A foreign entry of a record, and the record.
struct RecordEntry {
  const OpInfo* info;
  const ForeignInfo* entry;
};
/// The one that holds for the node; throws `unsupported` with the reason.
RecordEntry require_entry(const Node& node);
std::optional<RecordEntry> find_entry(const Node& node);

/// The result of an operator on whole numbers of which some are unknown; nothing where the operator, or its operands,
/// are not of that kind.
std::optional<Elements> fold_elements(const Node& node, const std::vector<Operand>& inputs);

}  // namespace halfstep::formats::onnx
