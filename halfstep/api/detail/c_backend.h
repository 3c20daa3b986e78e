// A program in C as a third road of the proof. Internal to the verbs.
#pragma once

#include <map>
#include <string>

#include "halfstep/api/verify.h"
#include "halfstep/verify/equivalence/roads.h"

namespace halfstep::api {

/// Writes `roads.integer` as C, or takes the one in a folder, compiles it once with what reads samples and shows
/// layers, and runs it for every batch; a batch is one call where samples do not stay on the first axis. Temporary
/// files live as long as the roads. Throws where there is no form in C, the folder holds no program with hooks or that
/// of another Model, or, with its own words, where the compiler fails or the program ends badly or does not end.
/// `extents` are those of the samples, for arguments that leave theirs open.
void add_c(verify::Roads& roads, const CProgramOptions& options, const std::map<std::string, Dims>& extents = {});

}  // namespace halfstep::api
