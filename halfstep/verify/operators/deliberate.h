// Golden cases from which our written rules differ on purpose.
#pragma once

#include <optional>
#include <string>

namespace halfstep::verify {

/// The reason, from the embedded files verify/operators/differences/*.json ({"reason": ["id", ...]}); nothing for a
/// case that is not on the list.
std::optional<std::string> deliberate_difference(const std::string& id);

}  // namespace halfstep::verify
