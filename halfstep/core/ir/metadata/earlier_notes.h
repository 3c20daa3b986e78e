// Reads the notes of model files before version 3 (texts by key) as Metadata. Internal to this room.
#pragma once

#include <map>
#include <string>

#include "halfstep/core/ir/metadata/metadata.h"

namespace halfstep::detail {

/// A note with an unknown key was free text and stays free text. The files had no stage, so it is derived from `graph`.
/// Throws Error, starting with `where`, for a malformed note.
Metadata metadata_of_notes(const std::map<std::string, std::string>& notes, const Graph& graph,
                           const std::string& where);

}  // namespace halfstep::detail
