#include "cli/help.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sstream>

#include "halfstep/halfstep.h"

namespace halfstep::cli {
namespace {

constexpr size_t kHelpWidth = 100, kHelpColumn = 34;

/// Breaks text into lines of at most `width` characters.
std::string wrapped(const std::string& text, size_t width, const std::string& indent) {
  std::istringstream words(text);
  std::string lines, line;
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      lines += line + "\n" + indent;
      line.clear();
    }
    line += (line.empty() ? "" : " ") + word;
  }
  return lines + line;
}

}  // namespace

std::string describe(const api::BoundOption& option) {
  const api::OptionEntry& entry = *option.entry;
  std::string text(entry.doc);
  if (entry.range != nullptr)
    text += fmt::format(" [{}{}]", entry.range->text(), entry.unit.empty() ? "" : fmt::format(" ({})", entry.unit));
  const api::Words now = option.words();
  if (!now.empty() && !option.is_switch) text += fmt::format(" (default: {})", fmt::join(now, ","));
  if (entry.required) text += " (required)";
  return text;
}

std::string type_name(const api::BoundOption& option) {
  const api::OptionEntry& entry = *option.entry;
  if (option.is_switch) return "";
  if (const api::Words choices = api::words_in(entry.choices); !choices.empty())
    return fmt::format("{{{}}}", fmt::join(choices, ","));
  if (entry.type == "platform") return fmt::format("{{{}}}|FILE", fmt::join(quant::platform_names(), ","));
  if (entry.type == "repair_method") {
    std::string names(repair::kAuto);
    for (const repair::MethodInfo& method : repair::method_list()) names += fmt::format(",{}", method.name);
    return "{" + names + "}[,...]";
  }
  if (entry.type.find("int") != std::string_view::npos) return "INT";
  if (entry.type == "number" || entry.type == "float") return "NUMBER";
  return entry.type == "path" ? "FILE" : "TEXT";
}

std::string examples_text(const api::VerbEntry& verb) {
  std::string text = "Examples:\n";
  std::istringstream lines{std::string(verb.examples)};
  for (std::string line; std::getline(lines, line);) text += "  " + line + "\n";
  return text;
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = "  " + make_option_name(option, is_positional);
  if (const size_t negated = name.find("{false}"); negated != std::string::npos) name.erase(negated, 7);
  if (!option->get_type_name().empty()) name += " " + option->get_type_name();
  const std::string indent(kHelpColumn, ' ');
  name += name.size() + 1 < kHelpColumn ? std::string(kHelpColumn - name.size(), ' ') : "\n" + indent;
  return name + wrapped(option->get_description(), kHelpWidth - kHelpColumn, indent) + "\n";
}

std::string HelpFormatter::make_description(const CLI::App* command) const {
  return wrapped(command->get_description(), kHelpWidth, "") + "\n";
}

}  // namespace halfstep::cli
