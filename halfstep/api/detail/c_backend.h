// Exported C program as a backend for verification. Internal to the verbs.
#pragma once

#include <map>
#include <string>

#include "halfstep/api/verify.h"
#include "halfstep/verify/equivalence/execution_paths.h"

namespace halfstep::api {

/// Writes `paths.integer` as C, or takes the C program in a folder. Compiles it once with a driver that reads samples
/// and prints layers. Runs it for every batch. If samples do not stay on the first axis, a batch is one call. Temporary
/// files live as long as the paths. Throws if there is no C form, or if the folder has no program with hooks or the
/// program of another Model. Also throws, with the output of the tool, if the compiler fails, or if the program fails
/// or does not end. `extents` are the extents of the samples, for arguments with dynamic dimensions.
void add_c(verify::ExecutionPaths& paths, const CProgramOptions& options,
           const std::map<std::string, Dims>& extents = {});

}  // namespace halfstep::api
