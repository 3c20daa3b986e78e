// Networks by the path a user gives. Internal to the face.
#pragma once

#include <filesystem>

#include "halfstep/ir/model.h"

namespace halfstep {

/// A Model of any stage: one of our files, or what another framework exported.
Model load_network(const std::filesystem::path& path);

}  // namespace halfstep
