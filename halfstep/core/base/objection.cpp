#include "halfstep/core/base/objection.h"

#include <algorithm>

namespace halfstep {
namespace {

/// Beyond so many places only their number is said.
constexpr size_t kPlaces = 8;

std::string places_text(const std::vector<std::string>& places) {
  std::string text;
  for (size_t i = 0; i < std::min(places.size(), kPlaces); ++i) text += (i == 0 ? "" : ", ") + places[i];
  return places.size() > kPlaces ? fmt::format("{} and {} more", text, places.size() - kPlaces) : text;
}

/// "A: REASON; the same at B, C; D: ANOTHER".
std::string message_of(const std::vector<Objection>& objections) {
  std::string text;
  for (size_t i = 0; i < objections.size(); ++i) {
    const Objection& one = objections[i];
    const auto alike = [&](const Objection& other) { return other.says_the_same_as(one); };
    if (std::any_of(objections.begin(), objections.begin() + static_cast<ptrdiff_t>(i), alike)) continue;
    text += (text.empty() ? "" : "; ") + one.where + ": " + one.reason();
    std::vector<std::string> others;
    for (size_t j = i + 1; j < objections.size(); ++j) {
      if (alike(objections[j])) others.push_back(objections[j].where);
    }
    if (!others.empty()) text += "; the same at " + places_text(others);
  }
  return text;
}

ErrorKind kind_of(const std::vector<Objection>& objections) {
  const auto is_unsupported = [](const Objection& one) { return one.kind == ErrorKind::unsupported; };
  return std::ranges::any_of(objections, is_unsupported) ? ErrorKind::unsupported : ErrorKind::bad_input;
}

}  // namespace

bool Objection::says_the_same_as(const Objection& other) const {
  return what == other.what && found == other.found && expected == other.expected && remedy == other.remedy;
}

std::string Objection::reason() const {
  std::string text = what;
  const auto add = [&](const char* before, const std::string& part) {
    if (!part.empty()) text += before + part;
  };
  add(what.empty() ? "found " : ": found ", found);
  add(", expected ", expected);
  add("; ", remedy);
  return text;
}

Refusal::Refusal(std::vector<Objection> objections)
    : Error(kind_of(objections), message_of(objections)), objections_(std::move(objections)) {}

void refuse_all(std::vector<Objection> objections) {
  if (!objections.empty()) throw Refusal(std::move(objections));
}

std::string without_place(const std::string& message, const std::string& where) {
  return message.starts_with(where + ": ") ? message.substr(where.size() + 2) : message;
}

Objection objection_of(const Error& error, const std::string& layer, const std::string& where) {
  const std::string said = without_place(error.what(), where);
  const size_t end = said.find("; ");
  return {.layer = layer,
          .where = where,
          .what = said.substr(0, end),
          .remedy = end == std::string::npos ? "" : said.substr(end + 2),
          .kind = error.kind()};
}

void add_remedy(std::vector<Objection>& objections, const std::string& remedy) {
  for (Objection& one : objections) {
    if (one.remedy.empty()) one.remedy = remedy;
  }
}

}  // namespace halfstep
