// Translation by the `foreign` entries of the records.
#include <algorithm>
#include <set>

#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/translator.h"

namespace halfstep::formats::onnx {
namespace {

using Key = std::pair<std::string, std::string>;

const std::multimap<Key, RecordEntry>& entries() {
  static const std::multimap<Key, RecordEntry> kEntries = [] {
    std::multimap<Key, RecordEntry> all;
    for (const OpInfo& info : all_operators()) {
      for (const ForeignInfo& entry : info.foreign) {
        if (entry.format == "onnx") all.emplace(Key{entry.domain, entry.op}, RecordEntry{&info, &entry});
      }
    }
    return all;
  }();
  return kEntries;
}

template <class T>
const T* find(const std::vector<std::pair<std::string, T>>& list, const std::string& ours) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const auto& item) { return item.first == ours; });
  return found == list.end() ? nullptr : &found->second;
}

/// The contents of a foreign input as an attribute of ours.
struct FromTensor {
  const Tensor& tensor;
  const std::string& where;

  double one() const {
    if (tensor.size() != 1) unsupported("{}: found {}, expected one element", where, to_string(tensor.type()));
    return element(tensor, 0);
  }
  Attribute operator()(bool) const { return one() != 0; }
  Attribute operator()(int64_t) const {
    one();
    return integers_of(tensor, where)[0];
  }
  Attribute operator()(double) const { return one(); }
  Attribute operator()(const std::string&) const { unsupported("{}: a tensor that would have to be a word", where); }
  Attribute operator()(const std::vector<int64_t>&) const { return integers_of(tensor, where); }
  Attribute operator()(const std::vector<double>&) const {
    std::vector<double> list;
    for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(element(tensor, i));
    return list;
  }
  Attribute operator()(const std::vector<std::string>&) const { return (*this)(std::string()); }
};

/// One node and the entry that it is translated by.
class RecordForm {
 public:
  RecordForm(Translator& translator, const Node& node, const std::vector<Operand>& inputs, RecordEntry chosen)
      : translator_(translator), node_(node), inputs_(inputs), info_(*chosen.info), entry_(*chosen.entry) {}

  std::vector<Operand> translate() {
    Attributes attributes = take_attributes();
    std::vector<Operand> operands = take_operands();
    check_left_over();
    std::vector<Operand> results = translator_.make(node_, info_.name, std::move(operands), std::move(attributes));
    check_outputs(results);
    return results;
  }

 private:
  Operand input(size_t i) {
    used_.insert(i);
    return i < inputs_.size() ? inputs_[i] : Operand();
  }

  std::string theirs(const std::string& ours) const {
    const std::string* name = find(entry_.names, ours);
    return name == nullptr ? ours : *name;
  }

  std::optional<Attribute> attribute(const AttributeInfo& ours) {
    if (const Attribute* fixed = find(entry_.fixed, ours.name)) return *fixed;
    if (const int* position = find(entry_.inputs, ours.name)) {
      const Operand operand = input(static_cast<size_t>(*position));
      if (operand.there()) {
        const std::string where = fmt::format("{}: input {}", node_.where(), *position);
        return std::visit(FromTensor{translator_.contents(operand), where}, ours.default_value);
      }
    } else if (const auto* given = node_.attribute(theirs(ours.name))) {
      named_.insert(theirs(ours.name));
      return as_ours(*given, ours, node_.where());
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
        Translator::refuse(node_, fmt::format("without the attribute {} it is not supported", theirs(ours.name)));
    }
    return attributes;
  }

  std::vector<Operand> take_operands() {
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
      operands.push_back(input(position != nullptr ? static_cast<size_t>(*position) : next++));
    }
    return operands;
  }

  void check_left_over() const {
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (inputs_[i].there() && !used_.contains(i))
        Translator::refuse(node_, fmt::format("input {} is not supported", i));
    }
    for (const auto& [name, value] : node_.attributes()) {
      node_.attribute(name);
      if (!named_.contains(name) && !is_neutral(*value))
        Translator::refuse(node_, fmt::format("attribute {} = {} is not supported", name, to_text(*value)));
    }
  }

  void check_outputs(const std::vector<Operand>& results) const {
    for (size_t i = 0; i < node_.outputs(); ++i) {
      if (node_.has_output(i) && (i >= results.size() || !results[i].there()))
        Translator::refuse(node_, fmt::format("output {} is not supported", i));
    }
  }

  Translator& translator_;
  const Node& node_;
  const std::vector<Operand>& inputs_;
  const OpInfo& info_;
  const ForeignInfo& entry_;
  std::set<size_t> used_;
  std::set<std::string, std::less<>> named_;
};

}  // namespace

std::optional<RecordEntry> find_entry(const Node& node) {
  const auto [begin, end] = entries().equal_range(Key{node.domain(), node.op()});
  for (auto at = begin; at != end; ++at) {
    if (node.version() >= at->second.entry->since && node.version() <= at->second.entry->until) return at->second;
  }
  return std::nullopt;
}

RecordEntry require_entry(const Node& node) {
  if (const auto found = find_entry(node)) return *found;
  const auto [begin, end] = entries().equal_range(Key{node.domain(), node.op()});
  std::string known;
  for (auto at = begin; at != end; ++at) {
    const ForeignInfo& entry = *at->second.entry;
    known +=
        fmt::format("{} {}{}", known.empty() ? ", but" : " and", entry.since,
                    entry.until == std::numeric_limits<int64_t>::max() ? " on" : fmt::format(" to {}", entry.until));
  }
  Translator::refuse(node, fmt::format("the operator is not supported{}",
                                       known.empty() ? known : fmt::format(" in opset {}{}", node.version(), known)));
}

std::vector<Operand> Translator::by_record(const Node& node, const std::vector<Operand>& inputs) {
  return RecordForm(*this, node, inputs, require_entry(node)).translate();
}

}  // namespace halfstep::formats::onnx
