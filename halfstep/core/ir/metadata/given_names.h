// What the file that a network came from calls its layers, where that is not what we call them.
#pragma once

#include <map>
#include <string>

namespace halfstep {

/// The file's names by ours.
using GivenNames = std::map<std::string, std::string>;

/// Adds a name where it differs; the first one of a layer stays.
void add_given_name(GivenNames& names, const std::string& layer, const std::string& given);

/// Layers got other names: theirs by what they were called.
void rename_layers(GivenNames& names, const std::map<std::string, std::string>& renamed);

/// The file's name of what we call `ours`: the same where there is none.
std::string given_name(const GivenNames& names, const std::string& ours);

}  // namespace halfstep
