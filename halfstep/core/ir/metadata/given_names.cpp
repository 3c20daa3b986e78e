#include "halfstep/core/ir/metadata/given_names.h"

#include <sstream>

namespace halfstep {
namespace {

constexpr const char* kGivenNames = "given_names";  ///< lines of our name, a tab, the file's name

}  // namespace

void note_given_name(Notes& notes, const std::string& layer, const std::string& given) {
  const bool fits = layer.find_first_of("\t\n") == std::string::npos && given.find('\n') == std::string::npos;
  if (fits && layer != given) notes[kGivenNames] += layer + "\t" + given + "\n";
}

void rename_layers(Notes& notes, const std::map<std::string, std::string>& renamed) {
  if (renamed.empty() || !notes.contains(kGivenNames)) return;
  const auto names = given_names(notes);
  notes.erase(kGivenNames);
  for (const auto& [layer, given] : names) {
    const auto found = renamed.find(layer);
    note_given_name(notes, found == renamed.end() ? layer : found->second, given);
  }
}

std::map<std::string, std::string> given_names(const Notes& notes) {
  std::map<std::string, std::string> names;
  const auto note = notes.find(kGivenNames);
  if (note == notes.end()) return names;
  std::istringstream lines(note->second);
  for (std::string line; std::getline(lines, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) names.emplace(line.substr(0, tab), line.substr(tab + 1));
  }
  return names;
}

std::string given_name(const std::map<std::string, std::string>& given, const std::string& ours) {
  const auto found = given.find(ours);
  return found == given.end() ? ours : found->second;
}

}  // namespace halfstep
