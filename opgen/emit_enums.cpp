// Choices of the schema as C++ enums.
#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

std::string snake(std::string_view camel) {
  std::string text;
  for (const char c : camel) {
    if (std::isupper(static_cast<unsigned char>(c)) != 0 && !text.empty()) text += '_';
    text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

void write_enum(Text& text, const Enum& type) {
  text.blank();
  text.line("/// {}", type.doc);
  text.line("enum class {} {{", type.name);
  text.line("  none,");
  for (const auto& [value, doc] : type.values) text.line("  {},  ///< {}", value, doc);
  text.line("}};");
  text.line("inline constexpr std::array<std::string_view, {}> k{}Names = {{", type.values.size() + 1, type.name);
  text.line("    \"\",");
  for (const auto& [value, doc] : type.values) text.line("    \"{}\",", value);
  text.line("}};");
  text.line("constexpr std::string_view name({} value) {{ return k{}Names[static_cast<size_t>(value)]; }}", type.name,
            type.name);
  text.line("/// Returns nullopt for an unknown name.");
  text.line("constexpr std::optional<{}> parse_{}(std::string_view text) {{", type.name, snake(type.name));
  text.line("  const auto* const found = std::find(k{}Names.begin() + 1, k{}Names.end(), text);", type.name, type.name);
  text.line("  if (found == k{}Names.end()) return std::nullopt;", type.name);
  text.line("  return static_cast<{}>(found - k{}Names.begin());", type.name, type.name);
  text.line("}}");
}

}  // namespace

OutputFile emit_enums(const std::vector<Enum>& enums) {
  Text text;
  text.line("// Written by opgen from ops/schema.yaml: the choices of records.");
  text.line("#pragma once");
  text.blank();
  text.line("#include <algorithm>");
  text.line("#include <array>");
  text.line("#include <optional>");
  text.line("#include <string_view>");
  text.blank();
  text.line("namespace halfstep {{");
  for (const Enum& type : enums) write_enum(text, type);
  text.blank();
  text.line("}}  // namespace halfstep");
  return {"halfstep/core/ir/record_enums.h", text.str()};
}

}  // namespace halfstep::opgen
