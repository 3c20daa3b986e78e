#include "halfstep/verify/operators/problem.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/diagnostics/nearest.h"
#include "halfstep/core/ir/text/text_reader.h"
#include "halfstep/verify/operators/errors.h"
#include "halfstep/verify/operators/single.h"

namespace halfstep::verify {
namespace {

constexpr const char* kWhere = "problem";

/// Reads the line from left to right.
class ProblemReader {
 public:
  explicit ProblemReader(std::string_view text) : reader_(text, kWhere) {}

  Problem read() {
    const OpInfo& info = require_operator(reader_.key("an operator").text, kWhere);
    Problem problem{&info, read_use(info)};
    problem.use.attributes = complete_attributes(info, std::move(problem.use.attributes), kWhere);
    return problem;
  }

  OpCase read_use(const OpInfo& info) {
    info_ = &info;
    while (reader_.peek().kind != detail::TokenKind::end) entry();
    return {operands(), std::move(attributes_)};
  }

 private:
  void entry() {
    const detail::Token key = reader_.key("a port or an attribute of " + info_->name);
    const int port = info_->input(key.text);
    const AttributeInfo* attribute = info_->attribute(key.text);
    if (port < 0 && attribute == nullptr)
      fail(errors::problem_member_unknown(info_->name, key.text, did_you_mean(key.text, known_names())));
    if (ports_.contains(key.text) || attributes_.contains(key.text))
      fail(errors::problem_member_twice(info_->name, key.text));
    reader_.expect('=');
    if (attribute == nullptr) {
      ports_[key.text] = types(info_->inputs[static_cast<size_t>(port)]);
    } else {
      attributes_.emplace(key.text, value(*attribute));
    }
  }

  std::vector<std::string> known_names() const {
    std::vector<std::string> names;
    for (const PortInfo& port : info_->inputs) names.push_back(port.name);
    for (const AttributeInfo& attribute : info_->attributes) names.push_back(attribute.name);
    return names;
  }

  std::vector<Type> types(const PortInfo& port) {
    std::vector<Type> found;
    if (port.variadic) {
      reader_.expect('[');
      reader_.list(']', [&] { found.push_back(reader_.type()); });
    } else {
      found.push_back(reader_.type());
    }
    for (const Type& type : found) {
      if (!type.is_static()) fail(errors::problem_extents_open(info_->name, port.name, to_string(type)));
    }
    return found;
  }

  Attribute value(const AttributeInfo& attribute) {
    const bool is_text = std::holds_alternative<std::string>(attribute.default_value);
    const bool is_bare = is_text && reader_.peek().kind != detail::TokenKind::string;
    return is_bare ? Attribute(reader_.key("a word").text) : reader_.attribute();
  }

  std::vector<std::optional<Type>> operands() const {
    std::vector<std::optional<Type>> flat;
    for (const PortInfo& port : info_->inputs) {
      const auto found = ports_.find(port.name);
      if (found != ports_.end()) {
        flat.insert(flat.end(), found->second.begin(), found->second.end());
      } else if (!port.variadic) {
        flat.emplace_back(std::nullopt);
      }
    }
    return flat;
  }

  detail::TextReader reader_;
  const OpInfo* info_ = nullptr;
  std::map<std::string, std::vector<Type>> ports_;
  Attributes attributes_;
};

/// Removes blanks, which these texts only contain between elements.
template <class T>
std::string compact(const T& value) {
  std::string text = to_string(value);
  std::erase(text, ' ');
  return text;
}

std::string text_of(const Attribute& value) {
  const bool has_text =
      std::holds_alternative<std::string>(value) || std::holds_alternative<std::vector<std::string>>(value);
  return has_text ? to_string(value) : compact(value);
}

}  // namespace

Problem parse_problem(std::string_view text) {
  Problem problem = ProblemReader(text).read();
  check_problem(problem);
  return problem;
}

OpCase parse_use(const OpInfo& info, std::string_view text) { return ProblemReader(text).read_use(info); }

std::string to_text(const Problem& problem) {
  std::string text = problem.info->name;
  const auto& in = problem.use.in;
  for (size_t port = 0; port < problem.info->inputs.size(); ++port) {
    const PortInfo& info = problem.info->inputs[port];
    if (!info.variadic) {
      if (port < in.size() && in[port]) text += fmt::format(" {}={}", info.name, compact(*in[port]));
      continue;
    }
    std::string list;
    for (size_t i = port; i < in.size(); ++i) list += (list.empty() ? "" : ",") + compact(*in[i]);
    text += fmt::format(" {}=[{}]", info.name, list);
  }
  for (const auto& [name, value] : problem.use.attributes) {
    const AttributeInfo* attribute = problem.info->attribute(name);
    if (attribute->required || value != attribute->default_value) text += fmt::format(" {}={}", name, text_of(value));
  }
  return text;
}

std::string operand_name(const Problem& problem, size_t operand) {
  const auto& ports = problem.info->inputs;
  const size_t port = std::min(operand, ports.size() - 1);
  return ports[port].variadic ? fmt::format("{}[{}]", ports[port].name, operand - port) : ports[port].name;
}

}  // namespace halfstep::verify
