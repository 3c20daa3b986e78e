// Options in Python: for each verb a dataclass of its options, and a function with its docstring.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "optiongen/emit.h"

namespace halfstep::optiongen {
namespace {

std::vector<Option> options_of(const Descriptions& all, const Verb& verb) {
  std::vector<Option> options;
  for (const auto& [option, path] : all.leaves(verb)) {
    if (option.face == Face::all || option.face == Face::python) options.push_back(option);
  }
  return options;
}

std::string base_type(const Option& option) {
  if (!option.choices.empty()) return fmt::format("Literal[\"{}\"]", fmt::join(option.choices, "\", \""));
  if (option.type.find("int") != std::string::npos) return "int";
  if (option.type == "number" || option.type == "float") return "float";
  if (option.type == "flag") return "bool";
  return option.type == "path" || option.type == "platform" ? "str | os.PathLike[str]" : "str";
}

std::string type_of(const Option& option) {
  if (!option.python.empty()) return option.python;
  const std::string base = base_type(option);
  const bool is_text = base.starts_with("str");
  const std::string type = option.list ? fmt::format("{}Sequence[{}]", is_text ? base + " | " : "", base) : base;
  const bool has_value = option.has_default || option.list || option.type == "flag";
  const bool may_lack = !has_value || (option.optional && !option.has_default);
  return may_lack ? type + " | None" : type;
}

std::string default_of(const Option& option) {
  if (!option.has_default) {
    if (option.list && option.python.empty()) return "()";
    return option.type == "flag" && !option.optional ? "False" : "None";
  }
  if (option.type == "flag") return option.default_text == "true" ? "True" : "False";
  const bool is_number =
      option.choices.empty() && option.enumeration.empty() &&
      (option.type.find("int") != std::string::npos || option.type == "number" || option.type == "float");
  return is_number ? option.default_text : fmt::format("\"{}\"", option.default_text);
}

std::string parameter(const Option& option) {
  return fmt::format("{}: {} = {}", option.name, type_of(option), default_of(option));
}

std::string about(const Descriptions& all, const Option& option) {
  std::string text = sentence(option.doc);
  if (!option.range.empty())
    text += fmt::format(" Range: {}{}.", all.range(option).text(), option.unit.empty() ? "" : fmt::format(" ({})", option.unit));
  return text;
}

std::string indented(const std::string& head, const std::string& text, size_t depth) {
  const std::string indent(depth, ' ');
  const std::string joined = fmt::format("{}", fmt::join(wrapped(head + text, 116 - depth), "\n" + indent + "    "));
  return indent + joined + "\n";
}

std::string paragraph(const std::string& text) {
  std::string made;
  size_t at = 0;
  while (at < text.size()) {
    const size_t end = std::min(text.find("\n\n", at), text.size());
    made += fmt::format("\n    {}\n", fmt::join(wrapped(text.substr(at, end - at), 112), "\n    "));
    at = end + 2;
  }
  return made;
}

bool is_input(const Verb& verb, const Option& option) {
  return verb.python->inputs.find(option.name + ":") != std::string::npos;
}

std::string docstring(const Descriptions& all, const Verb& verb, const std::vector<Option>& options) {
  const PythonFace& face = *verb.python;
  std::string text = fmt::format("    \"\"\"{}\n", face.summary.empty() ? verb.summary : face.summary);
  if (!face.doc.empty()) text += paragraph(face.doc);
  text += "\n    Args:\n";
  for (const auto& [name, doc] : face.args) text += indented(name + ": ", doc, 8);
  for (const Option& option : options) text += indented(option.name + ": ", about(all, option), 8);
  text += indented(
      "progress: ", "Called with stage, done, total and note; True prints. An exception that it raises ends the verb.",
      8);
  if (!face.returns_doc.empty()) text += "\n    Returns:\n" + indented("", face.returns_doc, 8);
  text += "\n    Raises:\n";
  for (const auto& [exception, reason] : face.raises) text += indented(exception + ": ", reason, 8);
  text += "\n    Example:\n        ";
  for (const char c : face.example) text += c == '\n' ? std::string("\n        ") : std::string(1, c);
  return text + "\n    \"\"\"\n";
}

/// Returns "Quantize" for QuantizeCommand.
std::string class_name(const Verb& verb) { return verb.command.name.substr(0, verb.command.name.size() - 7); }

std::string renamed(const PythonFace& face, const std::vector<Option>& options) {
  std::string names;
  for (const auto& [old, name] : face.earlier)
    names += fmt::format("{}{}=\"{}\"", names.empty() ? "" : ", ", old, name);
  for (const Option& option : options) {
    for (const std::string& old : option.earlier) {
      if (old.find('-') == std::string::npos)
        names += fmt::format("{}{}=\"{}\"", names.empty() ? "" : ", ", old, option.name);
    }
  }
  return names.empty() ? "" : fmt::format("@renamed({})\n", names);
}

std::string function(const Descriptions& all, const Verb& verb) {
  const PythonFace& face = *verb.python;
  const std::vector<Option> options = options_of(all, verb);
  const std::string name = face.function.empty() ? verb.name : face.function;
  std::string parameters = "    " + face.inputs + ",\n", inputs, given;
  for (const Option& option : options) {
    if (!is_input(verb, option)) parameters += fmt::format("    {},\n", parameter(option));
    given += fmt::format("        {0}={0},\n", option.name);
  }
  for (const auto& [input, doc] : face.args) {
    const bool is_option =
        std::any_of(options.begin(), options.end(), [&](const Option& o) { return o.name == input; });
    if (!is_option) inputs += input + ", ";
  }
  return fmt::format(
      "\n\n{}def {}(\n{}    progress: Progress = None,\n) -> {}:\n{}    from halfstep.options import {}Options\n\n    "
      "options = {}Options(\n{}    )\n    return _run.{}({}options, progress)\n",
      renamed(face, options), name, parameters, face.returns, docstring(all, verb, options), class_name(verb),
      class_name(verb), given, name, inputs);
}

std::string dataclass(const Descriptions& all, const Verb& verb) {
  std::string fields;
  for (const Option& option : options_of(all, verb))
    fields += fmt::format("    {}\n    \"\"\"{}\"\"\"\n", parameter(option),
                          fmt::join(wrapped(about(all, option), 110), "\n    "));
  const std::string name = class_name(verb);
  return fmt::format("\n\n@dataclass\nclass {}Options(Options):\n    \"\"\"The options of `{}`.\"\"\"\n\n{}", name,
                     verb.python->function.empty() ? verb.name : verb.python->function, fields);
}

}  // namespace

void write_python(const Descriptions& all, const std::string& out) {
  constexpr const char* kImports =
      "\"\"\"{}\"\"\"\n# Made by optiongen of the rooms' options.yaml and the verbs.\n\nfrom __future__ import "
      "annotations\n\nimport os\n";
  std::string classes, functions;
  std::set<std::string> results;
  for (const Verb& verb : all.verbs()) {
    if (!verb.python) continue;
    if (verb.python->returns != "Model") results.insert(verb.python->returns);
    classes += dataclass(all, verb);
    functions += function(all, verb);
  }
  write(out + "/python/halfstep/options.py",
        fmt::format(fmt::runtime(kImports), "Options of each verb as one value.") +
            "from collections.abc import Mapping, Sequence\nfrom dataclasses import dataclass\nfrom typing import "
            "TYPE_CHECKING, Any, Literal\n\nfrom "
            "halfstep.option_values import Options\n\nif TYPE_CHECKING:\n    from halfstep.option_values import "
            "Preprocess\n" +
            classes);
  write(
      out + "/python/halfstep/verbs.py",
      fmt::format(fmt::runtime(kImports), "The verbs, with the names of the command line and of C++.") +
          "from collections.abc import Mapping, Sequence\nfrom typing import TYPE_CHECKING, Any, Callable, Literal\n\n"
          "from halfstep import _run\nfrom halfstep.datasets import Data\nfrom halfstep.model import Model\n"
          "from halfstep.progress import Progress\nfrom halfstep.renamed import renamed\n" +
          fmt::format("from halfstep.quantizers import Quantizer\nfrom halfstep.reports import {}\n\nif "
                      "TYPE_CHECKING:\n    from halfstep.option_values import Preprocess\n",
                      fmt::join(results, ", ")) +
          functions);
}

}  // namespace halfstep::optiongen
