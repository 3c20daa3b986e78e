#include "halfstep/formats/scopes.h"

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
  Entry* known = entry(name);
  if (known != nullptr) *known = {std::move(operand)};
  return known != nullptr;
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
    if (scope->closed) break;
  }
  return nullptr;
}

}  // namespace halfstep::formats
