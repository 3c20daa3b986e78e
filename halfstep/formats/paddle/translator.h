// Operator by operator from a Paddle program to our graph; what the functions in formats/paddle/ops are written with.
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

/// "out0": Paddle's outputs have no names.
std::string output_name(size_t position);

class Translator : public Builder {
 public:
  /// With `survey` nothing is refused but noted there, and the model is worthless.
  Translator(const PaddleFile& file, const Binding& binding, Model& model, Coverage* survey);

  /// The whole file, once.
  void run();

  // ---- for the functions in ops/

  /// Nothing where the node has no such input; throws where it has a list.
  Operand in(const Node& node, const Port& port);
  /// The same; throws where there is nothing.
  Operand require(const Node& node, const Port& port);
  std::vector<Operand> in_list(const Node& node, const Port& port);
  /// What a name stands for; throws for one that has no value. `where` starts the message.
  Operand lookup(const std::string& value, const std::string& where);
  void set(const Node& node, const Port& port, Operand operand);
  void set_list(const Node& node, const Port& port, const std::vector<Operand>& operands);

  /// What an attribute says that may be an input too: the input at `position` in PIR; in a ProgramDesc the slots that
  /// go with its name (shape: ShapeTensor, ShapeTensorList, Shape); else the attribute. Nothing where none is there.
  std::optional<Attribute> setting(const Node& node, const std::string& name, size_t position);
  std::vector<int64_t> integers(const Node& node, const std::string& name, size_t position);
  double number(const Node& node, const std::string& name, size_t position, double otherwise);
  using Builder::integers;

  /// As the `foreign` entries of the records say; on other operands, by our ports.
  void by_record(const Node& node);
  void by_record(const Node& node, const std::vector<Operand>& operands);

  /// The operators of block `i` of those inside the node, whose arguments stand for `arguments`; what it gives.
  std::vector<Operand> run_block(const Node& node, size_t i, const std::vector<Operand>& arguments);
  const Block& block(const Node& node, size_t i) const;
  /// Of a ProgramDesc: what the names of a slot stand for; nothing for those without a value.
  std::map<std::string, Operand> values_of(const Slot* slot);
  /// Of a ProgramDesc: what is called `wanted` once the operators of block `i` are done, which see and change what is
  /// `given` and nothing else.
  std::vector<Operand> run_apart(const Node& node, size_t i, const std::map<std::string, Operand>& given,
                                 const std::vector<std::string>& wanted);

  /// As `tried_inside`: what `translate` assigns holds where it succeeds.
  bool tried_on_variables(const void* block, const std::function<void()>& translate);

  /// A conditional block of which only a run tells whether it runs, until a selection takes what it gives.
  struct Conditional {
    Node node;
    Operand condition;
    std::map<std::string, Operand> given;
    std::vector<std::string> outputs;
    std::map<const Conditional*, std::vector<Operand>> joined = {};  ///< with the block of the opposite condition
  };
  void postpone(const Conditional& conditional);
  /// That which gives the value; null where another operator does.
  std::shared_ptr<Conditional> postponed(const std::string& value) const;
  /// In a survey, of an operator whose condition is not known: notes that, and looks at the operators inside.
  void look_inside(const Node& node, const Error& error);

 private:
  class Home;

  void add_parameters();
  void add_inputs();
  /// By port of the entry's operator.
  std::vector<Operand> inputs(const Node& node, const RecordEntry& entry);
  void translate_block(const Block& block);
  void translate(const Operator& op);
  void translate_one(const Node& node);
  bool lost_input(const Node& node);
  void lose(const Node& node);
  /// What an output held before: some operators read it, or leave it as it is.
  Operand former(const Node& node, const Port& port);
  void define(const Node& node, const std::string& value, Operand operand);
  void check_claim(const Node& node, const std::string& value, const Operand& operand) const;

  const PaddleFile& file_;
  const Program& program_;
  Scopes scopes_;
  std::vector<const Block*> blocks_;  ///< those that are being translated, the innermost last
  std::map<std::string, std::shared_ptr<Conditional>> postponed_;  ///< by each value that they give
  std::map<std::string, std::string> missing_;                     ///< values that no operator of ours gives, and why
};

}  // namespace halfstep::formats::paddle
