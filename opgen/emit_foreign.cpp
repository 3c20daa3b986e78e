// For each importer: docs/NAME.md, and the table of hand-written translations of operators that need more than
// renaming.
#include <algorithm>
#include <map>

#include "opgen/cpp.h"
#include "opgen/emit.h"
#include "opgen/text.h"

namespace halfstep::opgen {
namespace {

/// Domains by the short form in file names.
const std::map<std::string, std::string>& domains() {
  static const std::map<std::string, std::string> kDomains = {{"microsoft", "com.microsoft"},
                                                              {"qonnx", "qonnx.custom_op.general"}};
  return kDomains;
}

struct ForeignName {
  std::string domain, op;
};

ForeignName name_of(const Form& form) {
  const size_t dot = form.stem.find('.');
  if (dot == std::string::npos) return {"", form.stem};
  const std::string domain = form.stem.substr(0, dot);
  const auto known = domains().find(domain);
  return {known == domains().end() ? domain : known->second, form.stem.substr(dot + 1)};
}

/// Returns a name such as "translate_Conv" or "translate_microsoft_QGemm".
std::string function_of(const Form& form) {
  std::string name = "translate_" + form.stem;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

bool is_of(const std::string& format, const Importer& importer) {
  return std::find(importer.formats.begin(), importer.formats.end(), format) != importer.formats.end();
}

/// Table rows by domain and foreign name.
using Rows = std::multimap<std::pair<std::string, std::string>, std::string>;

Rows rows_of(const Records& records, const Importer& importer) {
  Rows rows;
  for (const Record& record : records) {
    for (const Foreign& foreign : record.foreign) {
      if (!is_of(foreign.format, importer)) continue;
      std::string versions =
          foreign_versions({.source = {}, .format = {}, .op = {}, .since = foreign.since, .until = foreign.until});
      if (!versions.empty()) versions = versions.substr(2);
      const std::string scope = importer.formats.size() > 1 ? foreign.format : versions;
      rows.emplace(std::pair(foreign.domain, foreign.op),
                   fmt::format("{} | `{}` | {}", scope, record.name, foreign_names(foreign)));
    }
  }
  for (const Form& form : importer.forms) {
    const ForeignName name = name_of(form);
    rows.emplace(std::pair(name.domain, name.op), fmt::format(" | {} | ", form.doc));
  }
  return rows;
}

}  // namespace

std::string emit_foreign_docs(const Records& records, const Importer& importer) {
  Text text;
  text.line("# {} operators that can be imported\n", importer.title);
  text.line(
      "Written by opgen from the `foreign` entries of the records in ops/ and the functions in "
      "halfstep/formats/{}/ops/. Types",
      importer.folder);
  text.line(
      "and extents are those of our operators: docs/operators.md. `halfstep inspect FILE` lists unsupported nodes.\n");
  text.line("| operator | {} | becomes | names |\n| --- | --- | --- | --- |",
            importer.formats.size() > 1 ? "format" : "opset");
  for (const auto& [name, row] : rows_of(records, importer))
    text.line("| {}{} | {} |", name.first.empty() ? "" : name.first + " ", name.second, row);
  return text.str();
}

std::string emit_foreign_forms(const Importer& importer) {
  const std::vector<Form>& forms = importer.forms;
  Text text;
  text.add(generated_by(fmt::format("The functions of halfstep/formats/{}/ops.", importer.folder)));
  text.line("#include \"halfstep/formats/{}/forms.h\"", importer.folder);
  text.line("\nnamespace halfstep::formats::{} {{\n", importer.folder);
  for (const Form& form : forms) text.line("void {}(Translator&, const Node&);", function_of(form));
  text.line("\nstd::span<const Form> all_forms() {{");
  text.line("  static constexpr std::array<Form, {}> kForms = {{{{", forms.size());
  for (const Form& form : forms) {
    const ForeignName name = name_of(form);
    text.line("      {{{}, {}, {}, {}}},", string_literal(name.domain), string_literal(name.op), function_of(form),
              string_literal(form.doc));
  }
  text.line("  }}}};");
  text.line("  return kForms;\n}}\n\n}}  // namespace halfstep::formats::{}", importer.folder);
  return text.str();
}

}  // namespace halfstep::opgen
