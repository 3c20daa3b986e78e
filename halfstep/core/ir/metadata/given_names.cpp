#include "halfstep/core/ir/metadata/given_names.h"

#include <utility>

namespace halfstep {

void add_given_name(GivenNames& names, const std::string& layer, const std::string& given) {
  if (layer != given) names.emplace(layer, given);
}

void rename_layers(GivenNames& names, const std::map<std::string, std::string>& renamed) {
  for (const auto& [layer, given] : std::exchange(names, {})) {
    const auto found = renamed.find(layer);
    add_given_name(names, found == renamed.end() ? layer : found->second, given);
  }
}

std::string given_name(const GivenNames& names, const std::string& ours) {
  const auto found = names.find(ours);
  return found == names.end() ? ours : found->second;
}

}  // namespace halfstep
