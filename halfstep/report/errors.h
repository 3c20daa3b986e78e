// Errors and their catalogue as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "halfstep/core/base/status.h"

namespace halfstep::report {

/// "error HS2107: photo.png: found 20x20 pixels, expected ...": the message behind its id, in one line.
std::string as_text(const Error& error);

/// {id, name, kind, layer, where, problem, found, expected, remedy}; "" for a part that there is not.
nlohmann::ordered_json object_of(const Diagnostic& diagnostic);

/// One line: {"schema": 1, "errors": [...]}.
std::string as_json(const Error& error);

/// The entry as `halfstep explain` prints it.
std::string as_text(const ErrorEntry& entry);
std::string as_json(const ErrorEntry& entry);

/// All entries, one line each.
std::string as_text(std::span<const ErrorEntry* const> entries);
std::string as_json(std::span<const ErrorEntry* const> entries);

}  // namespace halfstep::report
