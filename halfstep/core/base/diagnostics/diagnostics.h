// Diagnostics that are collected, so that a command names everything that stands in its way at once.
#pragma once

#include <string>
#include <vector>

#include "halfstep/core/base/status.h"

namespace halfstep {

/// Gives this remedy to those that have none.
void add_remedy(std::vector<Diagnostic>& diagnostics, const std::string& remedy);

/// Does `work`. Where it throws an Error of kind unsupported, the diagnostics of the error are added, each with this
/// layer and place where it has none. Returns whether the work was done.
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
