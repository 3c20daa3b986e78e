// The error catalogue: id, title, message and remedy of every error.
#pragma once

#include <span>
#include <string>

#include "halfstep/core/base/diagnostics/diagnostic.h"

namespace halfstep::api {

/// Returns all entries, sorted by id.
std::span<const ErrorEntry* const> all_errors();

/// Returns the entry for an id ("HS1100", "hs1100", "1100") or a name ("cannot_be_read"). Throws unknown_error with the
/// nearest match.
const ErrorEntry& explain(const std::string& id);

}  // namespace halfstep::api
