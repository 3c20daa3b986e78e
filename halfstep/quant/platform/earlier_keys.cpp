#include "halfstep/quant/platform/earlier_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <utility>

namespace halfstep::quant {
namespace {

struct EarlierKey {
  std::string_view earlier, now;
};

constexpr EarlierKey kSections[] = {{"features", "activations"}, {"edges", "first_and_last"}};
/// `activations` was the section of the functions that fuse. Its keys tell it from the section of that name.
constexpr EarlierKey kFused = {"activations", "fused_activations"};
constexpr std::string_view kFusedKeys[] = {"weighted", "accumulates"};

bool is_fused_key(std::string_view name) { return std::ranges::find(kFusedKeys, name) != std::end(kFusedKeys); }

bool is_fused_section(const YAML::Node& section) {
  return section.IsMap() && section.size() > 0 && std::ranges::all_of(section, [](const auto& entry) {
           return entry.first.IsScalar() && is_fused_key(entry.first.Scalar());
         });
}

void rename_key(YAML::Node key, const EarlierKey& to, std::vector<std::string>& notes) {
  key = std::string(to.now);
  notes.push_back(fmt::format("{} is now {}", to.earlier, to.now));
}

void rename_in_rules(const YAML::Node& rules, std::vector<std::string>& notes) {
  if (!rules.IsSequence()) return;
  for (const auto& rule : rules) {
    if (!rule.IsMap()) continue;
    for (const auto& entry : rule) {
      if (entry.first.IsScalar() && entry.first.Scalar() == "features")
        rename_key(entry.first, {"legal.features", "activations"}, notes);
    }
  }
}

}  // namespace

std::string current_path(const std::string& path) {
  const size_t dot = path.find('.');
  const std::string section = path.substr(0, dot), rest = dot == std::string::npos ? "" : path.substr(dot);
  if (section == kFused.earlier && !rest.empty() && is_fused_key(std::string_view(rest).substr(1)))
    return std::string(kFused.now) + rest;
  const auto* known = std::ranges::find(kSections, section, &EarlierKey::earlier);
  return known == std::end(kSections) ? path : std::string(known->now) + rest;
}

std::vector<std::string> rename_earlier_keys(const YAML::Node& root) {
  std::vector<std::string> notes;
  if (!root.IsMap()) return notes;
  for (const auto& entry : root) {
    if (!entry.first.IsScalar()) continue;
    const std::string name = entry.first.Scalar();
    if (name == kFused.earlier && is_fused_section(entry.second)) {
      rename_key(entry.first, kFused, notes);
    } else if (const auto* known = std::ranges::find(kSections, name, &EarlierKey::earlier);
               known != std::end(kSections)) {
      rename_key(entry.first, *known, notes);
    } else if (name == "legal") {
      rename_in_rules(entry.second, notes);
    }
  }
  std::ranges::sort(notes);
  notes.erase(std::ranges::unique(notes).begin(), notes.end());
  return notes;
}

}  // namespace halfstep::quant
