// The notes of model files before version 3, texts by key, as Metadata. Internal to this room.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/metadata/metadata.h"

namespace halfstep::detail {

/// A note of another key was free text and stays so. The files did not have the stage: `graph` says it. Throws Error
/// that starts with `where` for a note that is not as it was written.
Metadata metadata_of_notes(const std::map<std::string, std::string>& notes, const Graph& graph,
                           const std::string& where);

}  // namespace halfstep::detail
