// Metadata as the JSON object of a model file. Internal to this room.
#pragma once

#include <string>

#include "halfstep/core/ir/model.h"

namespace halfstep::detail {

/// Equal metadata produce equal text. Throws nlohmann::json::exception for text that is not UTF-8.
std::string metadata_text(const Metadata& metadata);

/// Parses untrusted text. Throws Error, starting with `where`, for unknown keys and values of wrong types.
Metadata parse_metadata(const std::string& text, const std::string& where);

/// Checks that numbers are in range, that named tensors exist, and that the graph matches the stage. Throws Error.
void check_metadata(const Model& model);

}  // namespace halfstep::detail
