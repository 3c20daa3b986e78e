#include "halfstep/core/base/diagnostics/diagnostic.h"

#include <fmt/format.h>

namespace halfstep {
namespace {

std::string filled(std::string_view text, const ErrorEntry& entry, std::span<const Text> values) {
  std::string result;
  while (!text.empty()) {
    const size_t open = text.find('{');
    result += text.substr(0, open);
    if (open == std::string_view::npos) break;
    const size_t close = text.find('}', open);
    const std::string_view name = text.substr(open + 1, close - open - 1);
    for (size_t i = 0; i < entry.takes.size(); ++i) {
      if (entry.takes[i] == name) result += values[i].get();
    }
    text.remove_prefix(close + 1);
  }
  return result;
}

}  // namespace

Text::Text(const std::string& text) : text_(text) {}

Text::Text(std::string_view text) : text_(text) {}

Text::Text(const char* text) : text_(text) {}

Text::Text(Signed whole) : text_(std::to_string(whole.number)) {}

Text::Text(Unsigned whole) : text_(std::to_string(whole.number)) {}

Text::Text(const Text&) = default;

Text::~Text() = default;

Text::Text(float number) : text_(fmt::format("{}", number)) {}

Text::Text(double number) : text_(fmt::format("{}", number)) {}

std::array<std::pair<const char*, const std::string*>, 6> Diagnostic::parts() const {
  return {{{"layer", &layer},
           {"where", &where},
           {"problem", &problem},
           {"found", &found},
           {"expected", &expected},
           {"remedy", &remedy}}};
}

bool Diagnostic::says_the_same_as(const Diagnostic& other) const {
  return entry == other.entry && problem == other.problem && found == other.found && expected == other.expected &&
         remedy == other.remedy;
}

std::string Diagnostic::reason() const {
  std::string text = problem;
  const auto add = [&](const char* before, const std::string& part) {
    if (!part.empty()) text += (text.empty() && before[0] == ',' ? before + 2 : before) + part;
  };
  add(problem.empty() ? "found " : ": found ", found);
  add(", expected ", expected);
  add("; ", remedy);
  return text;
}

std::string Diagnostic::message() const { return where.empty() ? reason() : where + ": " + reason(); }

Diagnostic fill(const ErrorEntry& entry, std::span<const Text> values) {
  return {.where = filled(entry.where, entry, values),
          .problem = filled(entry.problem, entry, values),
          .found = filled(entry.found, entry, values),
          .expected = filled(entry.expected, entry, values),
          .remedy = filled(entry.remedy, entry, values),
          .entry = &entry};
}

}  // namespace halfstep
