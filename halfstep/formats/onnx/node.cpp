#include "halfstep/formats/onnx/node.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "halfstep/core/base/status.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/module_names.h"

namespace halfstep::formats::onnx {
namespace {

/// AttributeProto.AttributeType.
enum AttributeType : int {
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8
};

const std::string kNone;

/// Attributes had no type before IR version 2, so the type follows from the field in use.
int kind_of(const proto::NodeAttribute& a) {
  if (a.type() != 0) return a.type();
  if (a.has_f()) return kFloat;
  if (a.has_i()) return kInt;
  if (a.has_s()) return kString;
  if (a.has_t()) return kTensor;
  if (a.has_g()) return kGraph;
  if (a.floats_size() > 0) return kFloats;
  return a.strings_size() > 0 ? kStrings : kInts;
}

std::vector<int64_t> ints_of(const proto::NodeAttribute& a) { return {a.ints().begin(), a.ints().end()}; }

std::string lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

[[noreturn]] void fail_type(const std::string& where, const proto::NodeAttribute& a, const char* expected) {
  fail(errors::wrong_attribute_type(fmt::format("{}: attribute {}", where, a.name()), to_text(a), expected));
}

[[noreturn]] void refuse_value(const proto::NodeAttribute& a, std::string_view expected, const std::string& where) {
  fail(errors::form_not_supported(where, fmt::format("attribute {} = {}", a.name(), to_text(a)), expected, ""));
}

std::string as_text(const proto::NodeAttribute& a, const AttributeInfo& ours, const std::string& where) {
  if (kind_of(a) == kInt) {
    if (a.i() == 0) return "";
    return std::string(name(dtype_of(a.i(), where + ": attribute " + a.name())));
  }
  if (kind_of(a) != kString) refuse_value(a, "a word", where);
  const auto& choices = ours.choices;
  const auto is_choice = [&](const std::string& text) {
    return choices.empty() || std::find(choices.begin(), choices.end(), text) != choices.end();
  };
  if (is_choice(a.s())) return a.s();
  if (is_choice(lower(a.s()))) return lower(a.s());
  std::string all;
  for (const std::string& choice : choices) all += (all.empty() ? "" : ", ") + choice;
  refuse_value(a, "one of " + all, where);
}

struct Converter {
  const proto::NodeAttribute& a;
  const AttributeInfo& ours;
  const std::string& where;
  int kind = kind_of(a);

  Attribute operator()(bool) const {
    if (kind == kInt) return a.i() != 0;
    if (kind == kString && (a.s() == "none" || a.s() == "tanh")) return a.s() != "none";  // Gelu's approximation
    refuse_value(a, "0 or 1", where);
  }
  Attribute operator()(int64_t) const {
    if (kind == kInt) return a.i();
    refuse_value(a, "an integer", where);
  }
  Attribute operator()(double) const {
    if (kind == kFloat) return static_cast<double>(a.f());
    if (kind == kInt) return static_cast<double>(a.i());
    refuse_value(a, "a number", where);
  }
  Attribute operator()(const std::string&) const { return as_text(a, ours, where); }
  Attribute operator()(const std::vector<int64_t>&) const {
    if (kind == kInts) return ints_of(a);
    if (kind == kInt) return std::vector<int64_t>{a.i()};
    refuse_value(a, "integers", where);
  }
  Attribute operator()(const std::vector<double>&) const {
    if (kind == kFloats) return std::vector<double>(a.floats().begin(), a.floats().end());
    if (kind == kFloat) return std::vector<double>{a.f()};
    refuse_value(a, "numbers", where);
  }
  Attribute operator()(const std::vector<std::string>&) const {
    if (kind == kStrings) return std::vector<std::string>(a.strings().begin(), a.strings().end());
    refuse_value(a, "words", where);
  }
};

struct NeutralNumber {
  std::string_view name;
  double value;
};
constexpr std::array<NeutralNumber, 38> kNeutralNumbers = {{{"ceil_mode", 0},
                                                            {"storage_order", 0},
                                                            {"count_include_pad", 0},
                                                            {"group", 1},
                                                            {"training_mode", 0},
                                                            {"select_last_index", 0},
                                                            {"noop_with_empty_axes", 0},
                                                            {"allowzero", 0},
                                                            {"exclude_outside", 0},
                                                            {"antialias", 0},
                                                            {"is_causal", 0},
                                                            {"spatial", 1},
                                                            {"broadcast", 0},
                                                            {"cubic_coeff_a", -0.75},
                                                            {"extrapolation_value", 0},
                                                            {"exclusive", 0},
                                                            {"reverse", 0},
                                                            {"linear_before_reset", 0},
                                                            {"input_forget", 0},
                                                            {"layout", 0},
                                                            {"batch_dims", 0},
                                                            {"saturate", 1},
                                                            {"output_dtype", 0},
                                                            {"block_size", 0},
                                                            {"precision", 0},
                                                            {"largest", 1},
                                                            {"sorted", 1},
                                                            {"stash_type", 1},
                                                            {"center_point_box", 0},
                                                            {"fmod", 0},
                                                            {"inclusive", 1},
                                                            {"detect_negative", 1},
                                                            {"detect_positive", 1},
                                                            {"qk_matmul_output_mode", 0},
                                                            {"softcap", 0},
                                                            {"interleaved", 0},
                                                            {"channels_last", 0},
                                                            {"onesided", 1}}};

struct NeutralWord {
  std::string_view name, value;
};
constexpr std::array<NeutralWord, 6> kNeutralWords = {{{"auto_pad", "NOTSET"},
                                                       {"direction", "forward"},
                                                       {"reduction", "none"},
                                                       {"approximate", "none"},
                                                       {"nearest_mode", "round_prefer_floor"},
                                                       {"keep_aspect_ratio_policy", "stretch"}}};

/// Whether only the first versions of operators have the attribute. It configured runtimes of that time and has no
/// effect on results.
bool is_history(std::string_view name) { return name == "consumed_inputs"; }

bool all_are(const proto::NodeAttribute& a, int64_t value) {
  return std::all_of(a.ints().begin(), a.ints().end(), [&](int64_t i) { return i == value; });
}

}  // namespace

Node::Node(const proto::Node& node, int64_t version, std::string where, const AttributeValues& outer)
    : node_(&node),
      domain_(node.domain() == "ai.onnx" ? "" : node.domain()),
      version_(version),
      where_(std::move(where)) {
  constexpr int kMaxOperands = 65'536;
  if (node.input_size() > kMaxOperands || node.output_size() > kMaxOperands)
    fail(errors::too_many_operands(where_, node.input_size(), node.output_size(), kMaxOperands));
  for (const proto::NodeAttribute& a : node.attribute()) {
    const proto::NodeAttribute* value = &a;
    if (!a.ref_attr_name().empty()) {
      const auto found = outer.find(a.ref_attr_name());
      if (found == outer.end()) continue;  // the caller omits it too
      value = found->second;
    }
    if (!attributes_.emplace(a.name(), value).second) fail(errors::attribute_twice(where_, a.name()));
  }
}

const std::string& Node::name() const {
  return !node_->name().empty() || node_->output_size() == 0 ? node_->name() : node_->output(0);
}

const std::string& Node::input(size_t i) const { return i < inputs() ? node_->input(static_cast<int>(i)) : kNone; }
const std::string& Node::output(size_t i) const { return i < outputs() ? node_->output(static_cast<int>(i)) : kNone; }

const proto::NodeAttribute* Node::attribute(std::string_view name) const {
  const auto found = attributes_.find(name);
  if (found == attributes_.end()) return nullptr;
  read_->emplace(name);
  return found->second;
}

Location Node::source() const { return source_line(*node_); }

std::vector<std::string> Node::module_names() const { return onnx::module_names(*node_); }

std::string Node::title() const { return domain_.empty() ? op() : domain_ + "." + op(); }

std::optional<Attribute> Node::attribute_as(const AttributeInfo& ours, const std::string& theirs) const {
  const auto* a = attribute(theirs);
  if (a == nullptr) return std::nullopt;
  return std::visit(Converter{*a, ours, where_}, ours.default_value);
}

std::string Node::left_over(const Names& taken) const {
  std::string rest;
  for (const auto& [name, value] : attributes_) {
    if (rest.empty() && !taken.contains(name) && !is_neutral(*value))
      rest = fmt::format("{} = {}", name, to_text(*value));
  }
  for (const auto& [name, value] : attributes_) read_->insert(name);
  return rest;
}

int64_t Node::integer(std::string_view name, int64_t otherwise) const {
  const auto* a = attribute(name);
  if (a != nullptr && kind_of(*a) != kInt) fail_type(where_, *a, "an integer");
  return a == nullptr ? otherwise : a->i();
}

double Node::real(std::string_view name, double otherwise) const {
  const auto* a = attribute(name);
  if (a != nullptr && kind_of(*a) != kFloat) fail_type(where_, *a, "a number");
  return a == nullptr ? otherwise : a->f();
}

std::string Node::text(std::string_view name, const std::string& otherwise) const {
  const auto* a = attribute(name);
  if (a != nullptr && kind_of(*a) != kString) fail_type(where_, *a, "a word");
  return a == nullptr ? otherwise : a->s();
}

std::optional<std::vector<int64_t>> Node::integers(std::string_view name) const {
  const auto* a = attribute(name);
  if (a == nullptr) return std::nullopt;
  if (kind_of(*a) != kInts) fail_type(where_, *a, "integers");
  return ints_of(*a);
}

Node Node::with(const std::string& name, std::vector<int64_t> values) const {
  const auto made = std::make_shared<proto::NodeAttribute>();
  made->set_name(name);
  made->set_type(kInts);
  made->mutable_ints()->Add(values.begin(), values.end());
  Node copy = *this;
  copy.made_[name] = made;
  copy.attributes_[name] = made.get();
  return copy;
}

Node Node::with(const std::string& name, int64_t value) const {
  const auto made = std::make_shared<proto::NodeAttribute>();
  made->set_name(name);
  made->set_type(kInt);
  made->set_i(value);
  Node copy = *this;
  copy.made_[name] = made;
  copy.attributes_[name] = made.get();
  return copy;
}

Node Node::without(std::string_view name) const {
  Node copy = *this;
  read_->emplace(name);
  const auto found = copy.attributes_.find(name);
  if (found != copy.attributes_.end()) copy.attributes_.erase(found);
  return copy;
}

Node Node::with_version(int64_t version) const {
  Node copy = *this;
  copy.version_ = version;
  return copy;
}

std::string to_text(const proto::NodeAttribute& a) {
  switch (kind_of(a)) {
    case kFloat: return to_string(Attribute(static_cast<double>(a.f())));
    case kInt: return std::to_string(a.i());
    case kString: return quote(a.s());
    case kTensor: return "a tensor";
    case kGraph: return "a graph";
    case kFloats: return to_string(Attribute(std::vector<double>(a.floats().begin(), a.floats().end())));
    case kInts: return to_string(Attribute(ints_of(a)));
    case kStrings: return to_string(Attribute(std::vector<std::string>(a.strings().begin(), a.strings().end())));
    default: return "of an unknown kind";
  }
}

bool is_neutral(const proto::NodeAttribute& a) {
  if (is_history(a.name())) return true;
  switch (kind_of(a)) {
    case kInt:
    case kFloat: {
      const double value = kind_of(a) == kInt ? static_cast<double>(a.i()) : static_cast<double>(a.f());
      return std::any_of(kNeutralNumbers.begin(), kNeutralNumbers.end(),
                         [&](const NeutralNumber& n) { return n.name == a.name() && n.value == value; });
    }
    case kString:
      return std::any_of(kNeutralWords.begin(), kNeutralWords.end(),
                         [&](const NeutralWord& n) { return n.name == a.name() && n.value == a.s(); });
    case kInts:
      return (a.name() == "dilations" && all_are(a, 1)) || (a.name() == "output_padding" && all_are(a, 0)) ||
             (a.name() == "pads" && all_are(a, 0));
    default: return false;
  }
}

}  // namespace halfstep::formats::onnx
