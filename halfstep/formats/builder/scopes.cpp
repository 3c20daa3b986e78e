#include "halfstep/formats/builder/scopes.h"

#include <utility>

namespace halfstep::formats {

bool Scopes::define(const std::string& name, Operand operand) {
  return scopes_.back().names.emplace(name, Entry{std::move(operand)}).second;
}

bool Scopes::define(const std::string& name, Load load) {
  return scopes_.back().names.emplace(name, Entry{{}, std::move(load)}).second;
}

void Scopes::set(const std::string& name, Operand operand) { scopes_.back().names[name] = {std::move(operand)}; }

bool Scopes::assign(const std::string& name, Operand operand) {
  if (entry(name) == nullptr) return false;
  auto scope = scopes_.rbegin();
  while (scope->border != Border::sealed && !scope->names.contains(name)) ++scope;
  scope->names[name] = {std::move(operand)};
  return true;
}

std::vector<std::pair<std::string, Operand>> Scopes::values() const {
  std::vector<std::pair<std::string, Operand>> values;
  for (const auto& [name, entry] : scopes_.back().names) values.emplace_back(name, entry.operand);
  return values;
}

const Operand* Scopes::find(const std::string& name) {
  Entry* found = entry(name);
  if (found == nullptr) return nullptr;
  if (found->load != nullptr) {
    Operand loaded;
    loaded.tensor = found->load();
    loaded.name = name;
    *found = {std::move(loaded)};
  }
  return &found->operand;
}

Scopes::Entry* Scopes::entry(const std::string& name) {
  for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
    const auto found = scope->names.find(name);
    if (found != scope->names.end()) return &found->second;
    if (scope->border == Border::closed) break;
  }
  return nullptr;
}

}  // namespace halfstep::formats
