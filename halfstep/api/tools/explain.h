// The catalogue of errors: every id with its title, its message and what to do.
#pragma once

#include <span>
#include <string>

#include "halfstep/core/base/diagnostics/diagnostic.h"

namespace halfstep::api {

/// All entries by id.
std::span<const ErrorEntry* const> all_errors();

/// The entry of an id ("HS1100", "hs1100", "1100") or a name ("cannot_be_read"). Throws unknown_error with the nearest
/// one.
const ErrorEntry& explain(const std::string& id);

}  // namespace halfstep::api
