// Whether errors mention a value: the name of an entry, a layer, a file, a number.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "halfstep/core/base/diagnostics/diagnostic.h"

namespace halfstep::test {

inline bool mentions(const std::vector<Diagnostic>& diagnostics, const std::string& value) {
  return std::ranges::any_of(diagnostics, [&](const Diagnostic& one) {
    return one.entry->name == value || one.layer == value || one.message().find(value) != std::string::npos;
  });
}

}  // namespace halfstep::test
