#include "halfstep/formats/paddle/translator.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/builder/record_form.h"
#include "halfstep/formats/paddle/errors.h"
#include "halfstep/formats/paddle/forms.h"

namespace halfstep::formats::paddle {
namespace {

const Form* find_form(const Node& node) {
  const auto forms = all_forms();
  const auto found = std::find_if(forms.begin(), forms.end(), [&](const Form& f) { return f.op == node.op(); });
  return found == forms.end() ? nullptr : &*found;
}

ForeignOp foreign_op(const Node& node) { return {node.format(), "", node.type()}; }

/// Concatenates the elements of tensors.
Attribute joined(const std::vector<Tensor>& tensors, const std::string& where) {
  const bool real = std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return is_float(t.dtype()); });
  std::vector<int64_t> integers;
  std::vector<double> numbers;
  for (const Tensor& tensor : tensors) {
    if (!real) {
      const auto more = formats::integers_of(tensor, where);
      integers.insert(integers.end(), more.begin(), more.end());
    }
    for (int64_t i = 0; real && i < tensor.size(); ++i) numbers.push_back(element(tensor, i));
  }
  return real ? Attribute(numbers) : Attribute(integers);
}

}  // namespace

std::string output_name(size_t position) { return fmt::format("out{}", position); }

/// Scope of a block's values during its translation.
class Translator::Home {
 public:
  Home(Translator& translator, const Block& block)
      : translator_(translator), inside_(translator.scopes_), postponed_(std::exchange(translator.postponed_, {})) {
    translator.blocks_.push_back(&block);
    for (const auto& [value, claim] : block.values) translator.scopes_.define(value, Operand());
  }
  ~Home() {
    translator_.blocks_.pop_back();
    translator_.postponed_ = std::move(postponed_);
  }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

 private:
  Translator& translator_;
  Inside inside_;
  std::map<std::string, std::shared_ptr<Conditional>> postponed_;  ///< postponed conditionals of the enclosing block
};

Translator::Translator(const PaddleFile& file, const Binding& binding, Model& model, Coverage* survey)
    : Builder(file.name(), binding, model, survey), file_(file), program_(file.program()) {}

void Translator::run() {
  const Inside inside(scopes_);
  add_parameters();
  const Home home(*this, program_.blocks[0]);
  add_inputs();
  translate_block(program_.blocks[0]);
  if (surveys()) return;
  std::vector<Operand> outputs;
  std::vector<std::string> names;
  for (const std::string& value : program_.outputs) {
    names.push_back(output_name(names.size()));
    outputs.push_back(lookup(value, fmt::format("{}: output '{}'", file_.name(), names.back())));
  }
  set_outputs(outputs, std::move(names));
}

// ---- values

void Translator::add_parameters() {
  for (const auto& [name, tensor] : file_.parameters()) scopes_.define(name, [&tensor = tensor] { return tensor; });
}

void Translator::add_inputs() {
  for (const Input& input : program_.inputs) {
    const auto declared = [&] {
      if (!input.claim.dtype)
        fail(errors::element_type_not_supported(fmt::format("{}: input '{}'", file_.name(), input.name),
                                                input.claim.type_name));
      return Declared{{*input.claim.dtype, input.claim.dims}};
    };
    scopes_.set(input.name, add_input(input.name, true, declared));
  }
}

Operand Translator::lookup(const std::string& value, const std::string& where) {
  const Operand* operand = scopes_.find(value);
  if (operand != nullptr && operand->there()) return *operand;
  if (postponed(value)) fail(errors::value_behind_condition(where, value));
  const auto missing = missing_.find(value);
  if (missing != missing_.end()) fail(errors::reads_unsupported_output(where, value, missing->second));
  fail(errors::value_read_before_made(where, value));
}

void Translator::define(const Node& node, const std::string& value, Operand operand) {
  if (value.empty()) return;
  postponed_.erase(value);
  if (!operand.there()) {
    missing_.emplace(value, fmt::format("an output of '{}' ({})", node.name(), node.type()));
    return;
  }
  name_result(node, value, operand);
  check_claim(node, value, operand);
  if (!scopes_.assign(value, operand)) scopes_.set(value, operand);
}

void Translator::check_claim(const Node& node, const std::string& value, const Operand& operand) const {
  if (operand.lost) return;
  const Type type = operand.type();
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    const auto claim = (*block)->values.find(value);
    if (claim == (*block)->values.end()) continue;
    const Dims& dims = claim->second.dims;
    const auto fits = [](int64_t a, int64_t b) { return a == b || a == kUnknown || b == kUnknown; };
    if (claim->second.dtype == type.dtype &&
        std::equal(dims.begin(), dims.end(), type.dims.begin(), type.dims.end(), fits))
      return;
    fail(errors::result_type_differs(node.where(), to_string(type), claim->second.type_name + to_string(dims)));
  }
}

Operand Translator::in(const Node& node, const Port& port) {
  const std::vector<Operand> list = in_list(node, port);
  if (list.size() > 1)
    fail(errors::wrong_count(node.where(), fmt::format("values of input {}", port.slot), list.size(), 1));
  return list.empty() ? Operand() : list[0];
}

Operand Translator::require(const Node& node, const Port& port) {
  Operand operand = in(node, port);
  if (!operand.there()) fail(errors::part_missing(node.where(), fmt::format("input {}", port.slot)));
  return operand;
}

Operand Translator::former(const Node& node, const Port& port) {
  const Slot* slot = node.output(port);
  if (slot == nullptr || slot->values.size() != 1) return {};
  const Operand* operand = scopes_.find(slot->values[0]);
  return operand == nullptr ? Operand() : *operand;
}

std::vector<Operand> Translator::in_list(const Node& node, const Port& port) {
  std::vector<Operand> list;
  if (const Slot* slot = node.input(port)) {
    for (const std::string& value : slot->values)
      list.push_back(value.empty() ? Operand() : lookup(value, node.where()));
  }
  return list;
}

void Translator::set(const Node& node, const Port& port, Operand operand) {
  set_list(node, port, {std::move(operand)});
}

void Translator::set_list(const Node& node, const Port& port, const std::vector<Operand>& operands) {
  const Slot* slot = node.output(port);
  if (slot == nullptr) return;
  if (slot->values.size() != operands.size())
    fail(errors::wrong_count(node.where(), fmt::format("values of output {}", port.slot), slot->values.size(),
                             operands.size()));
  for (size_t i = 0; i < operands.size(); ++i) define(node, slot->values[i], operands[i]);
}

std::optional<Attribute> Translator::setting(const Node& node, const std::string& name, size_t position) {
  std::string slot = name;
  slot[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(slot[0])));
  for (const std::string& named : {slot + "Tensor", slot + "TensorList", slot}) {
    const std::vector<Operand> list = in_list(node, {named, position});
    if (list.empty()) continue;
    std::vector<Tensor> tensors;
    for (const Operand& operand : list) tensors.push_back(contents(operand));
    node.attribute(name);  // the input overrides the attribute
    return joined(tensors, fmt::format("{}: input {}", node.where(), name));
  }
  const Attribute* value = node.attribute(name);
  return value == nullptr ? std::nullopt : std::optional(*value);
}

std::vector<int64_t> Translator::integers(const Node& node, const std::string& name, size_t position) {
  const auto value = setting(node, name, position);
  if (!value) return {};
  return integers_of(*value, fmt::format("{}: {}", node.where(), name));
}

double Translator::number(const Node& node, const std::string& name, size_t position, double otherwise) {
  const auto value = setting(node, name, position);
  if (!value) return otherwise;
  const std::vector<double> numbers = numbers_of(*value, fmt::format("{}: {}", node.where(), name));
  if (numbers.size() != 1)
    fail(errors::wrong_attribute_type(fmt::format("{}: {}", node.where(), name), to_string(*value), "one number"));
  return numbers[0];
}

// ---- operators

void Translator::translate_block(const Block& block) {
  if (blocks_.size() > kMaxNesting) fail(errors::nested_too_deep(file_.name(), "blocks", kMaxNesting));
  for (const Operator& op : block.operators) translate(op);
}

void Translator::translate(const Operator& op) {
  const Node node(op, program_.format, file_.name());
  const auto look_up = [&] {
    if (find_form(node) == nullptr) require_entry(node, foreign_op(node));
  };
  const bool done = attempt(
      node, blocks_.size() == 1, [&] { translate_one(node); }, [&] { return lost_input(node); }, look_up);
  if (!done) lose(node);
}

void Translator::translate_one(const Node& node) {
  if (const Form* form = find_form(node))
    form->translate(*this, node);
  else
    by_record(node);
  if (const std::string unread = node.unread(); !unread.empty())
    fail(errors::attribute_not_supported(node.where(), unread));
  if (const std::string unread = node.unread_input(); !unread.empty())
    fail(errors::input_not_supported(node.where(), unread));
}

bool Translator::lost_input(const Node& node) {
  for (const Slot& slot : node.inputs()) {
    for (const std::string& value : slot.values) {
      const Operand* operand = scopes_.find(value);
      if (operand != nullptr && operand->lost) return true;
    }
  }
  return false;
}

void Translator::lose(const Node& node) {
  for (const Slot& slot : node.outputs()) {
    for (const std::string& value : slot.values) define(node, value, lost());
  }
}

std::vector<Operand> Translator::inputs(const Node& node, const RecordEntry& entry) {
  std::vector<Operand> all;
  for (size_t i = 0; node.numbers_slots() && i < node.inputs().size(); ++i) {
    const std::vector<Operand> list = in_list(node, {"", i});
    if (list.empty()) all.emplace_back();
    all.insert(all.end(), list.begin(), list.end());
  }
  if (node.numbers_slots()) return all;
  for (const PortInfo& ours : entry.info->inputs) {
    const Port port{foreign_name(*entry.entry, ours.name), 0};
    std::vector<Operand> list = in_list(node, port);
    if (list.empty() && !ours.variadic) list.push_back(former(node, port));
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

void Translator::by_record(const Node& node) {
  const RecordEntry chosen = require_entry(node, foreign_op(node));
  by_record(node, inputs(node, chosen));
}

void Translator::by_record(const Node& node, const std::vector<Operand>& operands) {
  const RecordEntry chosen = require_entry(node, foreign_op(node));
  const std::vector<Operand> results = by_entry(node, operands, chosen);
  for (size_t i = 0; i < results.size(); ++i)
    set(node, {foreign_name(*chosen.entry, chosen.info->outputs[i].name), i}, results[i]);
}

// ---- nested blocks

const Block& Translator::block(const Node& node, size_t i) const {
  if (i >= node.blocks().size())
    fail(errors::wrong_count(node.where(), "blocks inside", node.blocks().size(), fmt::format("at least {}", i + 1)));
  return program_.blocks[node.blocks()[i]];
}

std::vector<Operand> Translator::run_block(const Node& node, size_t i, const std::vector<Operand>& arguments) {
  const Block& inside = block(node, i);
  if (inside.arguments.size() != arguments.size())
    fail(errors::wrong_count(node.where(), "arguments of the block inside", inside.arguments.size(), arguments.size()));
  const Home home(*this, inside);
  for (size_t a = 0; a < arguments.size(); ++a) scopes_.set(inside.arguments[a], arguments[a]);
  translate_block(inside);
  std::vector<Operand> results;
  for (const std::string& value : inside.results.value_or(std::vector<std::string>()))
    results.push_back(value.empty() ? Operand() : lookup(value, node.where()));
  return results;
}

std::map<std::string, Operand> Translator::values_of(const Slot* slot) {
  std::map<std::string, Operand> values;
  if (slot == nullptr) return values;
  for (const std::string& name : slot->values) {
    const Operand* operand = scopes_.find(name);
    if (operand != nullptr && operand->there()) values.emplace(name, *operand);
  }
  return values;
}

std::vector<Operand> Translator::run_apart(const Node& node, size_t i, const std::map<std::string, Operand>& given,
                                           const std::vector<std::string>& wanted) {
  const Inside apart(scopes_, Scopes::Border::closed);
  for (const std::string& name : wanted) scopes_.define(name, Operand());
  for (const auto& [name, operand] : given) scopes_.set(name, operand);
  run_block(node, i, {});
  std::vector<Operand> results;
  for (const std::string& name : wanted) results.push_back(lookup(name, node.where()));
  return results;
}

bool Translator::tried_on_variables(const void* block, const std::function<void()>& translate) {
  std::vector<std::pair<std::string, Operand>> assigned;
  {
    const Inside apart(scopes_, Scopes::Border::sealed);
    if (!tried_inside(block, translate)) return false;
    assigned = scopes_.values();
  }
  for (const auto& [name, operand] : assigned) scopes_.assign(name, operand);
  return true;
}

void Translator::postpone(const Conditional& conditional) {
  const auto shared = std::make_shared<Conditional>(conditional);
  for (const std::string& value : conditional.outputs) postponed_[value] = shared;
}

std::shared_ptr<Translator::Conditional> Translator::postponed(const std::string& value) const {
  const auto found = postponed_.find(value);
  return found == postponed_.end() ? nullptr : found->second;
}

void Translator::look_inside(const Node& node, const Error& error) {
  note(node, error);
  for (size_t i = 0; i < node.blocks().size(); ++i)
    run_block(node, i, std::vector<Operand>(block(node, i).arguments.size(), lost()));
  lose(node);
}

}  // namespace halfstep::formats::paddle
