// Translates a Paddle program to Halfstep's graph, operator by operator. Also the interface for the functions in
// formats/paddle/ops.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/formats/builder/builder.h"
#include "halfstep/formats/builder/scopes.h"
#include "halfstep/formats/paddle/node.h"
#include "halfstep/formats/paddle/paddle_file.h"

namespace halfstep::formats::paddle {

/// Returns a name such as "out0", because Paddle's outputs have no names.
std::string output_name(size_t position);

class Translator : public Builder {
 public:
  /// With `survey`, unsupported nodes are recorded there instead of rejected, and the model is not usable.
  Translator(const PaddleFile& file, const Binding& binding, Model& model, Coverage* survey);

  /// Translates the whole file. Call it once.
  void run();

  // ---- for the functions in ops/

  /// Returns an absent operand if the node has no such input. Throws if the input is a list.
  Operand in(const Node& node, const Port& port);
  /// Throws if the node has no such input.
  Operand require(const Node& node, const Port& port);
  std::vector<Operand> in_list(const Node& node, const Port& port);
  /// Returns the value of a name. Throws if it has none. `where` starts the message.
  Operand lookup(const std::string& value, const std::string& where);
  void set(const Node& node, const Port& port, Operand operand);
  void set_list(const Node& node, const Port& port, const std::vector<Operand>& operands);

  /// Returns an attribute that may also be an input: the input at `position` in PIR, or the slots for its name in a
  /// ProgramDesc (shape: ShapeTensor, ShapeTensorList, Shape). Otherwise returns the attribute, or nothing if there is
  /// none.
  std::optional<Attribute> setting(const Node& node, const std::string& name, size_t position);
  std::vector<int64_t> integers(const Node& node, const std::string& name, size_t position);
  double number(const Node& node, const std::string& name, size_t position, double otherwise);
  using Builder::integers;

  /// Translates by the `foreign` entries of the records. `operands` replace the node's inputs, in the order of
  /// Halfstep's ports.
  void by_record(const Node& node);
  void by_record(const Node& node, const std::vector<Operand>& operands);

  /// Translates the operators of nested block `i` of the node with `arguments` as its arguments. Returns its results.
  std::vector<Operand> run_block(const Node& node, size_t i, const std::vector<Operand>& arguments);
  const Block& block(const Node& node, size_t i) const;
  /// ProgramDesc only: returns the values of the names in a slot, without undefined ones.
  std::map<std::string, Operand> values_of(const Slot* slot);
  /// ProgramDesc only: translates the operators of block `i`, which read and change only `given`. Returns the final
  /// values of `wanted`.
  std::vector<Operand> run_apart(const Node& node, size_t i, const std::map<std::string, Operand>& given,
                                 const std::vector<std::string>& wanted);

  /// Variant of `tried_inside` whose assignments take effect only on success.
  bool tried_on_variables(const void* block, const std::function<void()>& translate);

  /// A conditional block whose condition only a run determines. It is postponed until a selection uses its outputs.
  struct Conditional {
    Node node;
    Operand condition;
    std::map<std::string, Operand> given;
    std::vector<std::string> outputs;
    std::map<const Conditional*, std::vector<Operand>> joined = {};  ///< by the block of the opposite condition
  };
  void postpone(const Conditional& conditional);
  /// Returns the conditional that produces the value, or null if another operator does.
  std::shared_ptr<Conditional> postponed(const std::string& value) const;
  /// Records in a survey that the condition of an operator is unknown, and continues with its nested operators.
  void look_inside(const Node& node, const Error& error);

 private:
  class Home;

  void add_parameters();
  void add_inputs();
  /// Returns inputs by port of the entry's operator.
  std::vector<Operand> inputs(const Node& node, const RecordEntry& entry);
  void translate_block(const Block& block);
  void translate(const Operator& op);
  void translate_one(const Node& node);
  bool lost_input(const Node& node);
  void lose(const Node& node);
  /// Returns the previous value of an output, which some operators read or keep.
  Operand former(const Node& node, const Port& port);
  void define(const Node& node, const std::string& value, Operand operand);
  void check_claim(const Node& node, const std::string& value, const Operand& operand) const;

  const PaddleFile& file_;
  const Program& program_;
  Scopes scopes_;
  std::vector<const Block*> blocks_;                               ///< blocks under translation, innermost last
  std::map<std::string, std::shared_ptr<Conditional>> postponed_;  ///< by each value that they produce
  std::map<std::string, std::string> missing_;  ///< values without a Halfstep operator, and the reason
};

}  // namespace halfstep::formats::paddle
