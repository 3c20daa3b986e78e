// Golden cases in which our rules differ from the original on purpose.
#pragma once

#include <optional>
#include <string>

namespace halfstep::verify {

/// The reason of a deliberate difference. Nothing for other cases. Read from the embedded files
/// verify/operators/differences/*.json ({"reason": ["id", ...]}).
std::optional<std::string> deliberate_difference(const std::string& id);

}  // namespace halfstep::verify
