// Export of a calibrated network as files for the vendor's tools of its chip.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "halfstep/api/options.h"
#include "halfstep/core/ir/model.h"

namespace halfstep::api {

/// Writes the files listed under `deploy` in the platform record of `prepared` into the folder `out.path`, which is
/// created. The files are NETWORK.onnx and NETWORK with a suffix for each format. Ranges use the tensor names of the
/// exported network. Existing files are rejected, unless `out.overwrite` is set. Returns the file names. Before
/// writing, throws for an uncalibrated network and for data that a format cannot express. For a platform without such
/// files, the error names the platforms that have some.
std::vector<std::string> export_deploy(const Model& prepared, const OutFile& out);

}  // namespace halfstep::api
