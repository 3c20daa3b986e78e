#include "halfstep/formats/builder/record_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "halfstep/formats/builder/builder.h"
#include "halfstep/formats/builder/errors.h"

namespace halfstep::formats {
namespace {

/// Format, domain and operator.
using Key = std::tuple<std::string, std::string, std::string>;

/// ONNX domain of Halfstep's own operators: calls from inside a PyTorch module.
constexpr const char* kOwnDomain = "halfstep";

const std::multimap<Key, RecordEntry>& entries() {
  static const ForeignInfo kOwn{.format = "onnx", .op = "", .names = {}, .domain = kOwnDomain};
  static const std::multimap<Key, RecordEntry> kEntries = [] {
    std::multimap<Key, RecordEntry> all;
    for (const OpInfo& info : all_operators()) {
      all.emplace(Key{kOwn.format, kOwn.domain, info.name}, RecordEntry{&info, &kOwn});
      for (const ForeignInfo& entry : info.foreign)
        all.emplace(Key{entry.format, entry.domain, entry.op}, RecordEntry{&info, &entry});
    }
    return all;
  }();
  return kEntries;
}

auto entries_of(const ForeignOp& op) { return entries().equal_range(Key{op.format, op.domain, op.op}); }

template <class T>
const T* find(const std::vector<std::pair<std::string, T>>& list, const std::string& ours) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.first == ours; });
  return found == list.end() ? nullptr : &found->second;
}

/// Converts the contents of a foreign input to an attribute.
struct FromTensor {
  const Tensor& tensor;
  const std::string& where;

  double one() const {
    if (tensor.size() != 1) fail(errors::attribute_input_not_one_element(where, to_string(tensor.type())));
    return element(tensor, 0);
  }
  Attribute operator()(bool) const { return one() != 0; }
  Attribute operator()(int64_t) const {
    one();
    return integers_of(tensor, where)[0];
  }
  Attribute operator()(double) const { return one(); }
  Attribute operator()(const std::string&) const { fail(errors::tensor_as_word(where)); }
  Attribute operator()(const std::vector<int64_t>&) const { return integers_of(tensor, where); }
  Attribute operator()(const std::vector<double>&) const {
    std::vector<double> list;
    for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(element(tensor, i));
    return list;
  }
  Attribute operator()(const std::vector<std::string>&) const { return (*this)(std::string()); }
};

/// Translates one node by an entry.
class RecordForm {
 public:
  RecordForm(Builder& builder, const Node& node, const std::vector<Operand>& inputs, const RecordEntry& chosen)
      : builder_(builder), node_(node), inputs_(inputs), info_(*chosen.info), entry_(*chosen.entry) {}

  std::vector<Operand> translate() {
    Attributes attributes = take_attributes();
    std::vector<Operand> operands = take_operands(attributes);
    check_left_over();
    return builder_.make(node_, info_.name, std::move(operands), std::move(attributes));
  }

 private:
  Operand input(size_t i) {
    used_.insert(i);
    return i < inputs_.size() ? inputs_[i] : Operand();
  }

  std::optional<Attribute> attribute(const AttributeInfo& ours) {
    if (const Attribute* fixed = find(entry_.fixed, ours.name)) return *fixed;
    if (const int* position = find(entry_.inputs, ours.name)) {
      const Operand operand = input(static_cast<size_t>(*position));
      if (operand.there()) {
        const std::string where = fmt::format("{}: input {}", node_.where(), *position);
        return std::visit(FromTensor{builder_.contents(operand), where}, ours.default_value);
      }
    } else if (auto given = node_.attribute_as(ours, foreign_name(entry_, ours.name))) {
      named_.insert(foreign_name(entry_, ours.name));
      return given;
    }
    const Attribute* otherwise = find(entry_.defaults, ours.name);
    return otherwise == nullptr ? std::nullopt : std::optional(*otherwise);
  }

  Attributes take_attributes() {
    Attributes attributes;
    for (const AttributeInfo& ours : info_.attributes) {
      if (const auto value = attribute(ours))
        attributes[ours.name] = *value;
      else if (ours.required)
        fail(errors::attribute_required(node_.where(), foreign_name(entry_, ours.name)));
    }
    return attributes;
  }

  /// Skips the operands of ports that the attributes disable.
  std::vector<Operand> take_operands(const Attributes& attributes) {
    const Attributes complete = complete_attributes(info_, attributes, node_.where());
    std::set<size_t> taken;
    for (const auto& [ours, position] : entry_.inputs) taken.insert(static_cast<size_t>(position));
    std::vector<Operand> operands;
    size_t next = 0;
    for (const PortInfo& port : info_.inputs) {
      if (port.variadic) {
        for (; next < inputs_.size(); ++next) operands.push_back(input(next));
        break;
      }
      const int* position = find(entry_.inputs, port.name);
      while (position == nullptr && taken.contains(next)) ++next;
      const Operand operand = input(position != nullptr ? static_cast<size_t>(*position) : next++);
      operands.push_back(info_.has_input(static_cast<int>(operands.size()), complete) ? operand : Operand());
    }
    return operands;
  }

  void check_left_over() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].there() && !used_.contains(i)) fail(errors::input_not_supported(node_.where(), i));
    }
    if (const std::string rest = node_.left_over(named_); !rest.empty())
      fail(errors::attribute_not_supported(node_.where(), rest));
  }

  Builder& builder_;
  const Node& node_;
  const std::vector<Operand>& inputs_;
  const OpInfo& info_;
  const ForeignInfo& entry_;
  std::set<size_t> used_;
  Names named_;
};

}  // namespace

const std::string& foreign_name(const ForeignInfo& entry, const std::string& ours) {
  const std::string* name = find(entry.names, ours);
  return name == nullptr ? ours : *name;
}

std::optional<RecordEntry> find_entry(const ForeignOp& op) {
  const auto [begin, end] = entries_of(op);
  for (auto at = begin; at != end; ++at) {
    if (op.version >= at->second.entry->since && op.version <= at->second.entry->until) return at->second;
  }
  return std::nullopt;
}

RecordEntry require_entry(const Node& node, const ForeignOp& op) {
  if (const auto found = find_entry(op)) return *found;
  const auto [begin, end] = entries_of(op);
  std::string known;
  for (auto at = begin; at != end; ++at) {
    const ForeignInfo& entry = *at->second.entry;
    known +=
        fmt::format("{} {}{}", known.empty() ? ", but" : " and", entry.since,
                    entry.until == std::numeric_limits<int64_t>::max() ? " on" : fmt::format(" to {}", entry.until));
  }
  fail(errors::operator_not_supported(node.where(),
                                      known.empty() ? known : fmt::format(" in opset {}{}", op.version, known)));
}

std::vector<Operand> Builder::by_entry(const Node& node, const std::vector<Operand>& inputs, const RecordEntry& entry) {
  return RecordForm(*this, node, inputs, entry).translate();
}

}  // namespace halfstep::formats
