#include "halfstep/formats/paddle/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/paddle/types.h"

namespace halfstep::formats::paddle {
namespace {

/// PIR's names of operators with another name in a ProgramDesc, if functions translate them.
const std::map<std::string, std::string, std::less<>>& plain_names() {
  static const std::map<std::string, std::string, std::less<>> kNames = {{"bilinear_interp_v2", "bilinear_interp"},
                                                                         {"fill_constant", "full"},
                                                                         {"flatten_contiguous_range", "flatten"},
                                                                         {"lookup_table_v2", "embedding"},
                                                                         {"matmul_v2", "matmul"},
                                                                         {"nearest_interp_v2", "nearest_interp"},
                                                                         {"range", "arange"},
                                                                         {"reduce_max", "max"},
                                                                         {"reduce_mean", "mean"},
                                                                         {"reduce_min", "min"},
                                                                         {"reduce_prod", "prod"},
                                                                         {"reduce_sum", "sum"},
                                                                         {"reshape2", "reshape"},
                                                                         {"shape64", "shape"},
                                                                         {"squeeze2", "squeeze"},
                                                                         {"unsqueeze2", "unsqueeze"}};
  return kNames;
}

/// Whether an attribute configures Paddle's execution or records the origin of the operator, with no effect on results.
bool is_of_engine(std::string_view name) {
  static constexpr std::array<std::string_view, 33> kNames = {"op_device",
                                                              "op_namescope",
                                                              "op_role",
                                                              "op_role_var",
                                                              "op_callstack",
                                                              "with_quant_attr",
                                                              "quantization_type",
                                                              "use_mkldnn",
                                                              "use_onednn",
                                                              "use_cudnn",
                                                              "use_quantizer",
                                                              "mkldnn_data_type",
                                                              "onednn_data_type",
                                                              "exhaustive_search",
                                                              "workspace_size_MB",
                                                              "use_addto",
                                                              "force_cpu",
                                                              "place_type",
                                                              "in_dtype",
                                                              "seed",
                                                              "fix_seed",
                                                              "remote_prefetch",
                                                              "trainer_id",
                                                              "slot",
                                                              "epmap",
                                                              "table_names",
                                                              "height_sections",
                                                              "is_sparse",
                                                              "sparse",
                                                              "is_distributed",
                                                              "infer_flags",
                                                              "skip_eager_deletion_vars",
                                                              "is_scalar_condition"};
  return name.starts_with("Scale_") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

struct Neutral {
  std::string_view op;  ///< "" for all operators
  std::string_view name;
  std::optional<Attribute> value;  ///< nothing for any value, because the operator does not read it
};

/// Attributes that have no effect with this value, such as a flag that is not set.
bool is_neutral(std::string_view op, std::string_view name, const Attribute& value) {
  static const std::vector<Neutral> kNeutral = {{"", "axis", int64_t{-1}},
                                                {"", "data_format", "NCHW"},
                                                {"", "data_format", "AnyLayout"},
                                                {"", "data_layout", "NCHW"},
                                                {"", "fuse_activation", ""},
                                                {"", "fuse_alpha", 0.0},
                                                {"", "fuse_beta", 0.0},
                                                {"", "is_test", true},
                                                {"quantize_linear", "moving_rate", {}},
                                                {"dequantize_linear", "moving_rate", {}},
                                                {"hard_swish", "offset", 3.0},
                                                {"hard_swish", "scale", 6.0},
                                                {"hard_swish", "threshold", 6.0},
                                                {"mish", "lambda", 20.0},
                                                {"mish", "threshold", 20.0},
                                                {"softplus", "beta", 1.0},
                                                {"softplus", "threshold", 20.0},
                                                {"relu6", "threshold", 6.0},
                                                {"swish", "beta", 1.0}};
  if (is_of_engine(name)) return true;
  if (const bool* flag = std::get_if<bool>(&value); flag != nullptr && !*flag) return true;
  return std::any_of(kNeutral.begin(), kNeutral.end(), [&](const Neutral& n) {
    return (n.op.empty() || n.op == op) && n.name == name && (!n.value || *n.value == value);
  });
}

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

[[noreturn]] void fail_type(const std::string& where, std::string_view name, const Attribute& found,
                            const char* expected) {
  fail(errors::wrong_attribute_type(fmt::format("{}: attribute {}", where, name), to_string(found), expected));
}

/// Converts a value of Paddle to Halfstep's form.
struct Converter {
  const Attribute& theirs;
  const AttributeInfo& ours;
  const std::string& where;

  template <class T>
  const T* as() const {
    return std::get_if<T>(&theirs);
  }
  [[noreturn]] void refuse(std::string_view expected) const {
    fail(errors::wrong_attribute_type(where, to_string(theirs), expected));
  }

  Attribute operator()(bool) const {
    if (const auto* b = as<bool>()) return *b;
    if (const auto* i = as<int64_t>()) return *i != 0;
    refuse("true or false");
  }
  Attribute operator()(int64_t) const {
    if (const auto* i = as<int64_t>()) return *i;
    refuse("an integer");
  }
  Attribute operator()(double) const {
    if (const auto* d = as<double>()) return *d;
    if (const auto* i = as<int64_t>()) return static_cast<double>(*i);
    refuse("a number");
  }
  Attribute operator()(const std::string&) const {
    if (const auto* number = as<int64_t>()) {
      const ElementType* type = find_type_by_number(*number);
      if (type == nullptr || type->ours.empty()) fail(errors::element_type_not_supported(where, *number));
      return std::string(type->ours);
    }
    const auto* word = as<std::string>();
    if (word == nullptr) refuse("a word");
    const auto& choices = ours.choices;
    const bool fits = choices.empty() || std::find(choices.begin(), choices.end(), *word) != choices.end();
    return fits ? *word : lower(*word);
  }
  Attribute operator()(const std::vector<int64_t>&) const { return integers_of(theirs, where); }
  Attribute operator()(const std::vector<double>&) const { return numbers_of(theirs, where); }
  Attribute operator()(const std::vector<std::string>&) const {
    if (const auto* list = as<std::vector<std::string>>()) return *list;
    refuse("words");
  }
};

}  // namespace

Node::Node(const Operator& op, const std::string& format, const std::string& file)
    : op_(&op), format_(&format), attributes_(std::shared_ptr<const Attributes>(), &op.attributes) {
  const auto plain = plain_names().find(op.type);
  plain_ = plain == plain_names().end() ? op.type : plain->second;
  for (const Slot& slot : op.outputs) {
    for (const std::string& value : slot.values) name_ = name_.empty() ? value : name_;
  }
  where_ = fmt::format("{}: node '{}': {}", file, name_, op.type);
}

const Slot* Node::find(const std::vector<Slot>& slots, const Port& port) const {
  const auto is_it = [&](const Slot& slot) { return slot.name == port.slot; };
  const auto found = numbers_slots() ? slots.begin() + static_cast<int64_t>(std::min(port.position, slots.size()))
                                     : std::find_if(slots.begin(), slots.end(), is_it);
  if (found == slots.end() || found->values.empty()) return nullptr;
  return found->values.size() == 1 && found->values[0].empty() ? nullptr : &*found;
}

const Slot* Node::input(const Port& port) const {
  const Slot* slot = find(op_->inputs, port);
  read_slots_->insert(slot);
  return slot;
}

const Slot* Node::output(const Port& port) const { return find(op_->outputs, port); }

std::string Node::unread_input() const {
  for (size_t i = 0; i < op_->inputs.size(); ++i) {
    const Slot& slot = op_->inputs[i];
    const bool holds = std::any_of(slot.values.begin(), slot.values.end(), [](const auto& v) { return !v.empty(); });
    if (holds && !read_slots_->contains(&slot)) return slot.name.empty() ? std::to_string(i) : slot.name;
  }
  return "";
}

const Attribute* Node::attribute(std::string_view name) const {
  const auto found = attributes_->find(name);
  if (found == attributes_->end()) return nullptr;
  read_->emplace(name);
  return &found->second;
}

int64_t Node::integer(std::string_view name, int64_t otherwise) const {
  const auto* value = attribute(name);
  if (value == nullptr) return otherwise;
  if (const auto* number = std::get_if<int64_t>(value)) return *number;
  fail_type(where_, name, *value, "an integer");
}

double Node::real(std::string_view name, double otherwise) const {
  const auto* value = attribute(name);
  if (value == nullptr) return otherwise;
  const std::vector<double> numbers = numbers_of(*value, fmt::format("{}: attribute {}", where_, name));
  if (numbers.size() != 1) fail_type(where_, name, *value, "a number");
  return numbers[0];
}

bool Node::flag(std::string_view name, bool otherwise) const {
  const auto* value = attribute(name);
  if (value == nullptr) return otherwise;
  if (const auto* flag = std::get_if<bool>(value)) return *flag;
  fail_type(where_, name, *value, "true or false");
}

std::string Node::text(std::string_view name, const std::string& otherwise) const {
  const auto* value = attribute(name);
  if (value == nullptr) return otherwise;
  if (const auto* word = std::get_if<std::string>(value)) return *word;
  fail_type(where_, name, *value, "a word");
}

std::vector<int64_t> Node::integers(std::string_view name) const {
  const auto* value = attribute(name);
  if (value == nullptr) return {};
  return integers_of(*value, fmt::format("{}: attribute {}", where_, name));
}

std::optional<Attribute> Node::attribute_as(const AttributeInfo& ours, const std::string& theirs) const {
  const auto* value = attribute(theirs);
  if (value == nullptr) return std::nullopt;
  const std::string where = fmt::format("{}: attribute {}", where_, theirs);
  return std::visit(Converter{*value, ours, where}, ours.default_value);
}

std::string Node::left_over(const Names& taken) const {
  std::string rest;
  for (const auto& [name, value] : *attributes_) {
    if (rest.empty() && !taken.contains(name) && !is_neutral(op_->type, name, value))
      rest = fmt::format("{} = {}", name, to_string(value));
  }
  for (const auto& [name, value] : *attributes_) read_->insert(name);
  return rest;
}

Node Node::with(const std::string& name, Attribute value) const {
  Attributes attributes = *attributes_;
  attributes[name] = std::move(value);
  Node copy = *this;
  copy.attributes_ = std::make_shared<const Attributes>(std::move(attributes));
  return copy;
}

Node Node::without(std::string_view name) const {
  Attributes attributes = *attributes_;
  const auto found = attributes.find(name);
  if (found != attributes.end()) attributes.erase(found);
  read_->emplace(name);
  Node copy = *this;
  copy.attributes_ = std::make_shared<const Attributes>(std::move(attributes));
  return copy;
}

DType dtype_of(const Node& node, std::string_view attribute) {
  const Attribute* value = node.attribute(attribute);
  std::optional<DType> dtype;
  if (value != nullptr) {
    if (const auto* number = std::get_if<int64_t>(value)) dtype = dtype_of(find_type_by_number(*number));
    if (const auto* word = std::get_if<std::string>(value)) dtype = parse_dtype(*word);
  }
  if (!dtype)
    fail(errors::element_type_not_supported(fmt::format("{}: attribute {}", node.where(), attribute),
                                            value == nullptr ? "none" : to_string(*value)));
  return *dtype;
}

std::vector<int64_t> integers_of(const Attribute& value, const std::string& where) {
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return *list;
  if (const auto* number = std::get_if<int64_t>(&value)) return {*number};
  fail(errors::wrong_attribute_type(where, to_string(value), "integers"));
}

std::vector<double> numbers_of(const Attribute& value, const std::string& where) {
  if (const auto* list = std::get_if<std::vector<double>>(&value)) return *list;
  if (const auto* number = std::get_if<double>(&value)) return {*number};
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return {list->begin(), list->end()};
  if (const auto* number = std::get_if<int64_t>(&value)) return {static_cast<double>(*number)};
  fail(errors::wrong_attribute_type(where, to_string(value), "numbers"));
}

}  // namespace halfstep::formats::paddle
