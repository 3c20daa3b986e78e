#include "halfstep/formats/builder/nearest_form.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/formats/builder/record_form.h"

namespace halfstep::formats {
namespace {

const int* input_of(const ForeignInfo& entry, const std::string& ours) {
  const auto found =
      std::find_if(entry.inputs.begin(), entry.inputs.end(), [&](const auto& item) { return item.first == ours; });
  return found == entry.inputs.end() ? nullptr : &found->second;
}

std::string port_text(const PortInfo& port, const ForeignInfo& entry) {
  return fmt::format("{}{} {}{}", port.optional ? "optional " : "", foreign_name(entry, port.name), port.type,
                     port.variadic ? ", any number" : "");
}

std::string attribute_text(const AttributeInfo& attribute, const ForeignInfo& entry) {
  const int* input = input_of(entry, attribute.name);
  const std::string name = input != nullptr ? fmt::format("input {} ({}), known", *input, attribute.name)
                                            : foreign_name(entry, attribute.name);
  return attribute.choices.empty() ? name : fmt::format("{} {}", name, fmt::join(attribute.choices, "|"));
}

std::string versions_text(const ForeignInfo& entry) {
  const bool ends = entry.until != std::numeric_limits<int64_t>::max();
  if (entry.since == 1 && !ends) return "";
  return ends ? fmt::format(" in opset {} to {}", entry.since, entry.until)
              : fmt::format(" from opset {} on", entry.since);
}

/// Ports and attributes have their foreign names, types and values those of Halfstep.
std::string entry_text(const OpInfo& info, const ForeignInfo& entry) {
  std::vector<std::string> ports, attributes;
  for (const PortInfo& port : info.inputs) ports.push_back(port_text(port, entry));
  for (const AttributeInfo& attribute : info.attributes) {
    const bool is_fixed = std::any_of(entry.fixed.begin(), entry.fixed.end(),
                                      [&](const auto& item) { return item.first == attribute.name; });
    if (!is_fixed) attributes.push_back(attribute_text(attribute, entry));
  }
  return fmt::format("{} ({}): {}{}{}", versions_text(entry), info.name, fmt::join(ports, ", "),
                     attributes.empty() ? "" : "; ", fmt::join(attributes, ", "));
}

}  // namespace

SupportedForms::SupportedForms(std::string_view format, const std::vector<FormText>& forms) {
  for (const OpInfo& info : all_operators()) {
    for (const ForeignInfo& entry : info.foreign) {
      if (entry.format == format) all_.push_back({entry.domain, entry.op, entry_text(info, entry)});
    }
  }
  for (const FormText& form : forms) {
    const bool has_entry = std::any_of(
        all_.begin(), all_.end(), [&](const Supported& one) { return one.domain == form.domain && one.op == form.op; });
    if (!has_entry) all_.push_back({std::string(form.domain), std::string(form.op), fmt::format(": {}", form.doc)});
  }
}

/// Finds the nearest name by spelling, otherwise the longest name inside the operator's: "LayerNormalization" in
/// "SkipLayerNormalization".
std::string SupportedForms::nearest_name(const std::string& op) const {
  constexpr size_t kShortest = 4;
  std::vector<std::string> names;
  for (const Supported& one : all_) names.push_back(one.op);
  if (const std::string* near = nearest_word(op, names)) return *near;
  std::string longest;
  for (const std::string& name : names) {
    if (name.size() >= std::max(kShortest, longest.size() + 1) && op.find(name) != std::string::npos) longest = name;
  }
  return longest;
}

std::string SupportedForms::described(const std::string* domain, const std::string& op) const {
  std::vector<std::string> texts;
  for (const Supported& one : all_) {
    if (one.op == op && (domain == nullptr || one.domain == *domain))
      texts.push_back((one.domain.empty() ? "" : one.domain + ".") + one.op + one.text);
  }
  return fmt::format("{}", fmt::join(texts, "; or "));
}

std::string SupportedForms::nearest(const std::string& domain, const std::string& op) const {
  const std::string same = described(&domain, op);
  return same.empty() ? described(nullptr, nearest_name(op)) : same;
}

}  // namespace halfstep::formats
