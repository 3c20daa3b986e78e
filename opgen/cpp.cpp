#include "opgen/cpp.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <cmath>
#include <set>

namespace halfstep::opgen {
namespace {

template <class T, class F>
std::string braced(const std::vector<T>& values, F literal) {
  std::vector<std::string> parts;
  for (const T& value : values) parts.push_back(literal(value));
  return "{" + join(parts, ", ") + "}";
}

struct Initializer {
  std::string operator()(bool value) const { return bool_cpp(value); }
  std::string operator()(int64_t value) const { return std::to_string(value); }
  std::string operator()(double value) const { return double_cpp(value); }
  std::string operator()(const std::string& value) const { return string_literal(value); }
  template <class T>
  std::string operator()(const std::vector<T>& values) const {
    return braced(values, *this);
  }
};

}  // namespace

std::string pascal_case(std::string_view name) {
  std::string out;
  bool upper = true;
  for (const char c : name) {
    if (c == '_') {
      upper = true;
      continue;
    }
    out += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return out;
}

std::string cpp_name(const std::string& name) {
  static const std::set<std::string> kTaken = {
      "alignas", "alignof", "and", "asm", "auto", "bool", "break", "case", "catch", "char", "class", "concept", "const",
      "constexpr", "continue", "decltype", "default", "delete", "do", "double", "else", "enum", "explicit", "export",
      "extern", "false", "float", "for", "friend", "goto", "if", "inline", "int", "long", "mutable", "namespace", "new",
      "not", "operator", "or", "private", "protected", "public", "register", "requires", "return", "short", "signed",
      "sizeof", "static", "struct", "switch", "template", "this", "throw", "true", "try", "typedef", "typeid",
      "typename", "union", "unsigned", "using", "virtual", "void", "volatile", "while", "xor",
      // Local names in generated code.
      "site", "infer", "builder", "op", "d", "f", "element", "smallest", "largest", "truth"};
  return kTaken.contains(name) ? name + "_" : name;
}

std::string string_literal(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string double_cpp(double value) {
  if (std::isnan(value)) return "std::numeric_limits<double>::quiet_NaN()";
  if (std::isinf(value)) return fmt::format("{}std::numeric_limits<double>::infinity()", value < 0 ? "-" : "");
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string bool_cpp(bool value) { return value ? "true" : "false"; }

std::string dtype_cpp(DType dtype) {
  return fmt::format("DType::{}", dtype == DType::boolean ? "boolean" : name(dtype));
}

std::string_view attribute_type_cpp(const Attribute& value) {
  static constexpr std::array<std::string_view, std::variant_size_v<Attribute>> kNames = {"bool",
                                                                                          "int64_t",
                                                                                          "double",
                                                                                          "std::string",
                                                                                          "std::vector<int64_t>",
                                                                                          "std::vector<double>",
                                                                                          "std::vector<std::string>"};
  return kNames[value.index()];
}

std::string attribute_reference_cpp(const Attribute& value) {
  const std::string_view type = attribute_type_cpp(value);
  return type.starts_with("std::") ? fmt::format("const {}&", type) : std::string(type);
}

std::string initializer_cpp(const Attribute& value) { return std::visit(Initializer(), value); }

std::string attribute_cpp(const Attribute& value) {
  const std::string text = initializer_cpp(value);
  if (std::holds_alternative<bool>(value) || std::holds_alternative<double>(value)) return text;
  return fmt::format("{}{}", attribute_type_cpp(value), text[0] == '{' ? text : "{" + text + "}");
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string generated_by(std::string_view what) {
  return fmt::format("// {} Written by opgen from the records in ops/.\n", what);
}

}  // namespace halfstep::opgen
