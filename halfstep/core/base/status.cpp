#include "halfstep/core/base/status.h"

#include <fmt/format.h>

#include <algorithm>

namespace halfstep {
namespace {

/// Above this count a message contains only the number of further places.
constexpr size_t kPlaces = 8;

std::string places_text(const std::vector<std::string>& places) {
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), kPlaces); ++i) text += (i == 0 ? "" : ", ") + places[i];
  return places.size() > kPlaces ? fmt::format("{} and {} more", text, places.size() - kPlaces) : text;
}

/// Returns "A: REASON; the same at B, C; D: ANOTHER".
std::string message_of(const std::vector<Diagnostic>& diagnostics) {
  std::string text;
  for (size_t i = 0; i < diagnostics.size(); ++i) {
    const Diagnostic& one = diagnostics[i];
    const auto alike = [&](const Diagnostic& other) { return other.says_the_same_as(one); };
    if (std::any_of(diagnostics.begin(), diagnostics.begin() + static_cast<ptrdiff_t>(i), alike)) continue;
    text += (text.empty() ? "" : "; ") + one.message();
    std::vector<std::string> others;
    for (size_t j = i + 1; j < diagnostics.size(); ++j) {
      if (alike(diagnostics[j])) others.push_back(diagnostics[j].where);
    }
    if (!others.empty()) text += "; the same at " + places_text(others);
  }
  return text;
}

ErrorKind kind_of(const std::vector<Diagnostic>& diagnostics) {
  const auto is_unsupported = [](const Diagnostic& one) { return one.kind() == ErrorKind::unsupported; };
  return std::ranges::any_of(diagnostics, is_unsupported) ? ErrorKind::unsupported : diagnostics.front().kind();
}

}  // namespace

Error::Error(std::vector<Diagnostic> diagnostics)
    : std::runtime_error(message_of(diagnostics)), diagnostics_(std::move(diagnostics)), kind_(kind_of(diagnostics_)) {}

void fail(Diagnostic diagnostic) { throw Error(std::move(diagnostic)); }

void fail_on_any(std::vector<Diagnostic> diagnostics) {
  if (!diagnostics.empty()) throw Error(std::move(diagnostics));
}

Error prefixed(const std::string& prefix, const Error& error) {
  std::vector<Diagnostic> diagnostics = error.diagnostics();
  for (Diagnostic& one : diagnostics) one.where = one.where.empty() ? prefix : prefix + ": " + one.where;
  return Error(std::move(diagnostics));
}

Diagnostic placed(Diagnostic diagnostic, const std::string& layer, const std::string& where) {
  if (diagnostic.layer.empty()) diagnostic.layer = layer;
  if (diagnostic.where.empty()) diagnostic.where = where;
  return diagnostic;
}

void internal_error(const char* file, int line, const std::string& what) {
  fail(errors::defect(fmt::format("{}:{}", file, line), what));
}

}  // namespace halfstep
