// What `run` and `inspect` do with an ONNX file. Internal to the face.
#pragma once

#include "halfstep/halfstep.h"

namespace halfstep {

RunReport run_onnx(const RunRequest& request, const Settings& settings);

InspectReport inspect_onnx(const InspectRequest& request);

}  // namespace halfstep
