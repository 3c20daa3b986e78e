// Errors and their catalogue as text and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "halfstep/core/base/diagnostics/location.h"
#include "halfstep/core/base/status.h"

namespace halfstep::report {

/// One line with id and message, for example "error HS2107: photo.png: found 20x20 pixels, expected ...".
std::string as_text(const Error& error);

/// Returns the kind in JSON and Python: bad_input, unsupported, interrupted or internal.
std::string_view name_of(ErrorKind kind);

/// The file, line and node that a diagnostic's `where` names. Empty, or line 0, where it names none.
struct ErrorPlace {
  Location location;
  std::string node;
};
ErrorPlace place_of(const Diagnostic& diagnostic);

/// {id, name, kind, layer, where, problem, found, expected, remedy, file, line, node}. Absent parts are "", and an
/// absent line is null.
nlohmann::ordered_json object_of(const Diagnostic& diagnostic);

/// One line: {"schema": 2, "errors": [...]}.
std::string as_json(const Error& error);

/// A catalogue entry in the format of `halfstep explain`.
std::string as_text(const ErrorEntry& entry);
std::string as_json(const ErrorEntry& entry);

/// All entries, one line each.
std::string as_text(std::span<const ErrorEntry* const> entries);
std::string as_json(std::span<const ErrorEntry* const> entries);

}  // namespace halfstep::report
