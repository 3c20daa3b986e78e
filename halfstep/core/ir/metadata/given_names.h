// What the file that a network came from calls its layers, where that is not what we call them. It travels with the
// Model as a note.
#pragma once

#include <map>
#include <string>

namespace halfstep {

using Notes = std::map<std::string, std::string>;

/// Adds a name.
void note_given_name(Notes& notes, const std::string& layer, const std::string& given);

/// Layers got other names: theirs by what they were called.
void rename_layers(Notes& notes, const std::map<std::string, std::string>& renamed);

/// The file's names by ours.
std::map<std::string, std::string> given_names(const Notes& notes);

/// The file's name of what we call `ours`, by given_names: the same where there is none.
std::string given_name(const std::map<std::string, std::string>& given, const std::string& ours);

}  // namespace halfstep
