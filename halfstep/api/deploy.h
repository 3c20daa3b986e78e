// A calibrated network as the files that the tools of its chip read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Writes the files that the platform of `prepared` asks for (`deploy` of its record) into the folder `out.path`, which
/// is made: NETWORK.onnx and NETWORK with what each is, after the network's name. Ranges are by the names that tensors
/// have in the network of the same folder. Throws, before anything is written, for a network that is not calibrated,
/// for a platform without such files (naming those that have some) and for what a format cannot say. Files of these
/// names are refused, or replaced with `out.overwrite`. Returns their names in the folder.
std::vector<std::string> export_deploy(const Model& prepared, const OutFile& out);

}  // namespace halfstep::api
