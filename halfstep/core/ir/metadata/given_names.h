// Names of layers in the source file, where they differ from ours.
#pragma once

#include <map>
#include <string>

namespace halfstep {

/// Names of the source file by our names.
using GivenNames = std::map<std::string, std::string>;

/// Adds a name if it differs from ours. The first name of a layer is kept.
void add_given_name(GivenNames& names, const std::string& layer, const std::string& given);

/// Updates the names after layers were renamed. `renamed` has new names by old names.
void rename_layers(GivenNames& names, const std::map<std::string, std::string>& renamed);

/// Returns the name in the source file for `ours`, or `ours` itself if the names are equal.
std::string given_name(const GivenNames& names, const std::string& ours);

}  // namespace halfstep
