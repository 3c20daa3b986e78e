#include "halfstep/core/ir/op_info.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/base/status.h"
#include "halfstep/core/ir/errors.h"

namespace halfstep {
namespace {

using Presence = bool (*)(const Attributes&);

bool present(const std::vector<Presence>& conditions, int port, const Attributes& attributes) {
  const auto place = std::min(static_cast<size_t>(port), conditions.size() - 1);
  const Presence condition = conditions.empty() ? nullptr : conditions.at(place);
  return condition == nullptr || condition(attributes);
}

/// Names the bool attribute whose change would restore the port. If no single attribute does, returns the whole
/// condition.
std::string absence_reason(const std::vector<Presence>& conditions, const std::vector<PortInfo>& ports, int port,
                           const Attributes& attributes) {
  for (const auto& [name, value] : attributes) {
    const bool* setting = std::get_if<bool>(&value);
    if (setting == nullptr) continue;
    Attributes turned = attributes;
    turned.insert_or_assign(name, !*setting);
    if (present(conditions, port, turned)) return fmt::format(" when {} is {}", name, *setting);
  }
  return " when " + ports.at(static_cast<size_t>(port)).unless;
}

template <class Named>
int position(const std::vector<Named>& list, std::string_view name) {
  const auto found = std::find_if(list.begin(), list.end(), [&](const Named& item) { return item.name == name; });
  return found == list.end() ? -1 : static_cast<int>(found - list.begin());
}

std::vector<std::string> attribute_names(const OpInfo& info) {
  std::vector<std::string> names;
  for (const AttributeInfo& attribute : info.attributes) names.push_back(attribute.name);
  return names;
}

template <class T>
bool is_empty(const Attribute& value) {
  const auto* list = std::get_if<std::vector<T>>(&value);
  return list != nullptr && list->empty();
}

bool is_empty_list(const Attribute& value) {
  return is_empty<int64_t>(value) || is_empty<double>(value) || is_empty<std::string>(value);
}

/// Shortens a value for messages, because a list from a hostile file may be long.
std::string shortened(const Attribute& value) {
  constexpr size_t kLongest = 60;
  std::string text = to_string(value);
  return text.size() <= kLongest ? text : text.substr(0, kLongest) + "...";
}

/// Converts `value` to the type of `wanted` if the conversion is lossless.
Attribute converted(Attribute value, const Attribute& wanted) {
  if (value.index() == wanted.index()) return value;
  const auto* integer = std::get_if<int64_t>(&value);
  if (integer != nullptr && std::holds_alternative<double>(wanted)) return static_cast<double>(*integer);
  const auto* integers = std::get_if<std::vector<int64_t>>(&value);
  if (integers != nullptr && std::holds_alternative<std::vector<double>>(wanted))
    return std::vector<double>(integers->begin(), integers->end());
  if (is_empty_list(value)) {
    if (std::holds_alternative<std::vector<int64_t>>(wanted)) return std::vector<int64_t>();
    if (std::holds_alternative<std::vector<double>>(wanted)) return std::vector<double>();
    if (std::holds_alternative<std::vector<std::string>>(wanted)) return std::vector<std::string>();
  }
  return value;
}

void check_choice(const OpInfo& info, const AttributeInfo& attribute, const Attribute& value, std::string_view where) {
  const auto* text = std::get_if<std::string>(&value);
  const std::vector<std::string>& choices = attribute.choices;
  if (text == nullptr || choices.empty() || std::find(choices.begin(), choices.end(), *text) != choices.end()) return;
  fail(errors::attribute_choice(where, info.name, attribute.name, shortened(value), to_string(Attribute(choices)),
                                did_you_mean(*text, choices)));
}

}  // namespace

bool OpInfo::has_input(int port, const Attributes& given) const { return present(input_present, port, given); }
bool OpInfo::has_output(int port, const Attributes& given) const { return present(output_present, port, given); }

std::string OpInfo::absent_input_reason(int port, const Attributes& given) const {
  return absence_reason(input_present, inputs, port, given);
}
std::string OpInfo::absent_output_reason(int port, const Attributes& given) const {
  return absence_reason(output_present, outputs, port, given);
}

int OpInfo::input(std::string_view port) const { return position(inputs, port); }
int OpInfo::output(std::string_view port) const { return position(outputs, port); }

const AttributeInfo* OpInfo::attribute(std::string_view wanted) const {
  const int found = position(attributes, wanted);
  return found < 0 ? nullptr : &attributes[static_cast<size_t>(found)];
}

const OpInfo& require_operator(std::string_view name, std::string_view where) {
  if (const OpInfo* info = find_operator(name)) return *info;
  std::vector<std::string> names;
  for (const OpInfo& info : all_operators()) names.push_back(info.name);
  fail(errors::unknown_name(where, name, "an operator", did_you_mean(name, names)));
}

Attributes complete_attributes(const OpInfo& info, Attributes given, std::string_view where) {
  for (const auto& [name, value] : given) {
    if (info.attribute(name) != nullptr) continue;
    fail(errors::attribute_unknown(where, info.name, name, did_you_mean(name, attribute_names(info))));
  }
  Attributes complete;
  for (const AttributeInfo& attribute : info.attributes) {
    const Attribute& wanted = attribute.default_value;
    const auto found = given.find(attribute.name);
    if (found == given.end() && attribute.required)
      fail(errors::attribute_missing(where, info.name, attribute.name, type_name(wanted)));
    if (found == given.end()) {
      complete.emplace(attribute.name, wanted);
      continue;
    }
    Attribute value = converted(std::move(found->second), wanted);
    if (value.index() != wanted.index()) {
      fail(errors::attribute_type(where, info.name, attribute.name,
                                  fmt::format("{} ({})", shortened(value), type_name(value)), type_name(wanted)));
    }
    check_choice(info, attribute, value, where);
    complete.emplace(attribute.name, std::move(value));
  }
  return complete;
}

}  // namespace halfstep
