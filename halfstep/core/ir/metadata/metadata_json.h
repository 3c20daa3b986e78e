// Metadata as the JSON object that a model file has. Internal to this room.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::detail {

/// The same text for the same metadata; throws nlohmann::json::exception for text that is not UTF-8.
std::string metadata_text(const Metadata& metadata);

/// Trusts nothing: throws Error that starts with `where` for keys that there are not and values of other types.
Metadata parse_metadata(const std::string& text, const std::string& where);

/// Whether numbers are in range, tensors that it names are there, and the stage is one that the graph can have. Throws
/// Error.
void check_metadata(const Model& model);

}  // namespace halfstep::detail
