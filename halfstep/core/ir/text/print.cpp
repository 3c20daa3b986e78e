#include "halfstep/core/ir/text/print.h"

#include "halfstep/core/ir/detail.h"
#include "halfstep/core/ir/text/lexer.h"

namespace halfstep {
namespace {

using detail::written_name;

std::string reference(Value value) { return (value.is_tensor() ? "@" : "") + written_name(value.name()); }

template <class List, class Write>
std::string joined(const List& list, Write write) {
  std::string text;
  for (const auto& item : list) text += (text.empty() ? "" : ", ") + write(item);
  return text;
}

std::string operands(Op op) {
  const OpInfo& info = op.info();
  const size_t fixed = info.inputs.size() - (info.has_variadic_input() ? 1 : 0);
  std::vector<std::string> parts;
  for (size_t port = 0; port < fixed; ++port) {
    if (const Value value = op.in(static_cast<int>(port)))
      parts.push_back(info.inputs[port].name + "=" + reference(value));
  }
  if (info.has_variadic_input())
    parts.push_back(info.inputs.back().name + "=[" + joined(op.variadic(), reference) + "]");
  return joined(parts, [](const std::string& part) { return part; });
}

std::string attributes(Op op) {
  std::vector<std::string> parts;
  for (const AttributeInfo& info : op.info().attributes) {
    const Attribute& value = op.attributes().at(info.name);
    if (info.required || !detail::same(value, info.default_value)) parts.push_back(info.name + ": " + to_string(value));
  }
  return parts.empty() ? "" : " {" + joined(parts, [](const std::string& part) { return part; }) + "}";
}

std::string location(const Location& location) {
  if (location.file.empty()) return {};
  const std::string base = location.file.substr(location.file.find_last_of("/\\") + 1);
  return fmt::format(" at {}:{}", quote(base), location.line);
}

std::string arguments(const Block& block) {
  return "(" + joined(block.arguments(), [](Value v) { return written_name(v.name()) + ": " + to_string(v.type()); }) +
         ")";
}

class Printer {
 public:
  explicit Printer(const PrintOptions& options) : options_(options) {}

  std::string print(const Graph& graph) {
    text_ = "graph " + written_name(graph.name()) + arguments(graph.body()) + " {\n";
    for (const Value tensor : graph.tensors())
      line(fmt::format("{} {}: {}", name(tensor.role()), reference(tensor), to_string(tensor.type())));
    contents(graph.body());
    return std::move(text_) + "}\n";
  }

 private:
  void line(const std::string& text) { text_ += indent_ + text + "\n"; }

  void contents(const Block& block) {
    for (const Op op : block.ops()) operation(op);
    std::string outputs;
    const std::vector<Value> values = block.outputs();
    for (size_t i = 0; i < values.size(); ++i) {
      const Value value = values[i];
      const std::string& label = block.output_names()[i];
      outputs += (i > 0 ? ", " : " ") + (label == value.name() ? "" : written_name(label) + " = ") + reference(value);
    }
    line("return" + outputs);
  }

  void operation(Op op) {
    std::string text = written_name(op.name()) + " = " + written_name(op.info().name) + "(" + operands(op) + ")";
    text += attributes(op);
    if (options_.locations) text += location(op.location());
    for (size_t i = 0; i < op.regions().size(); ++i) {
      const Block& region = *op.regions()[i];
      line(text + " region " + op.info().regions[i] + arguments(region) + " {");
      indent_ += "  ";
      contents(region);
      indent_.resize(indent_.size() - 2);
      text = "}";
    }
    line(text);
  }

  const PrintOptions& options_;
  std::string text_;
  std::string indent_ = "  ";
};

}  // namespace

std::string print(const Graph& graph, const PrintOptions& options) { return Printer(options).print(graph); }

}  // namespace halfstep
