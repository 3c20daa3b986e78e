// What `run` and `inspect` do with a file of another system. Internal to the face.
#pragma once

#include "halfstep/halfstep.h"

namespace halfstep {

RunReport run_foreign(const RunRequest& request, const Settings& settings);

InspectReport inspect_foreign(const InspectRequest& request);

}  // namespace halfstep
