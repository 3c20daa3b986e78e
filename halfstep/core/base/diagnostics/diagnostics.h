// Collects diagnostics, so that a command reports all problems at once.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/status.h"

namespace halfstep {

/// Sets `remedy` in all diagnostics without a remedy.
void add_remedy(std::vector<Diagnostic>& diagnostics, const std::string& remedy);

/// Runs `work`. If it throws an Error of kind unsupported, appends the diagnostics of the error. `layer` and `where`
/// fill these parts where they are empty. Returns false if such an error occurred.
template <class Work>
bool collect(std::vector<Diagnostic>& diagnostics, const std::string& layer, const std::string& where, Work work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::unsupported) throw;
    for (const Diagnostic& one : error.diagnostics()) diagnostics.push_back(placed(one, layer, where));
  }
  return false;
}

}  // namespace halfstep
