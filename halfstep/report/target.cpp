#include "halfstep/report/target.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halfstep/report/common/fallbacks.h"
#include "halfstep/report/common/json.h"
#include "halfstep/report/common/objects.h"
#include "halfstep/report/errors.h"

namespace halfstep::report {
namespace {

/// The locations of identical objections.
std::string places_of(const std::vector<const Diagnostic*>& same) {
  constexpr size_t kShown = 6;
  std::vector<std::string> places;
  for (size_t i = 0; i < std::min(kShown, same.size()); ++i) places.push_back(same[i]->where);
  if (same.size() > kShown) places.push_back(fmt::format("{} more", same.size() - kShown));
  return fmt::format("{}", fmt::join(places, ", "));
}

std::string reason_text(const std::vector<const Diagnostic*>& same) {
  Diagnostic reason = *same.front();
  const std::string remedy = std::exchange(reason.remedy, "");
  return fmt::format("  {}\n    at: {}\n{}", reason.reason(), places_of(same),
                     remedy.empty() ? "" : fmt::format("    remedy: {}\n", remedy));
}

std::string verb_text(const api::VerbObjections& verb) {
  if (verb.objections.empty()) return "";
  std::vector<std::vector<const Diagnostic*>> reasons;
  for (const Diagnostic& one : verb.objections) {
    const auto same =
        std::ranges::find_if(reasons, [&](const auto& reason) { return reason.front()->says_the_same_as(one); });
    if (same == reasons.end()) {
      reasons.push_back({&one});
    } else {
      same->push_back(&one);
    }
  }
  std::string text = fmt::format("{} rejects\n", verb.verb);
  for (const auto& reason : reasons) text += reason_text(reason);
  return text;
}

}  // namespace

std::string as_text(const api::TargetInspection& found) {
  std::string text;
  for (const auto& verb : found.verbs) text += verb_text(verb);
  if (text.empty()) text = "quantize, convert and train accept the network\n";
  text = fmt::format("for {}\n\n{}", found.platform, text);
  if (!found.padded.empty()) text += fmt::format("\nzero-padded channels: {}\n", fmt::join(found.padded, ", "));
  for (const std::string& note : found.notes) text += fmt::format("\nnote: {}\n", note);
  return found.fallbacks.empty() ? text : text + "\n" + as_text(found.fallbacks);
}

nlohmann::ordered_json object_of(const api::TargetInspection& found) {
  auto objections = nlohmann::ordered_json::array();
  for (const auto& verb : found.verbs) {
    for (const Diagnostic& one : verb.objections) {
      objections.push_back({{"verb", verb.verb}});
      objections.back().update(object_of(one));
    }
  }
  return {{"platform", found.platform}, {"holds", found.holds()}, {"objections", std::move(objections)},
          {"padded", found.padded},     {"notes", found.notes},   {"float", list_of(found.fallbacks)}};
}

std::string as_json(const api::TargetInspection& found) { return to_text(object_of(found)); }

}  // namespace halfstep::report
