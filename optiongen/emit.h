// Files generated from the descriptions.
#pragma once

#include "buildgen/text.h"
#include "optiongen/description.h"

namespace halfstep::optiongen {

using buildgen::quoted;
using buildgen::sentence;
using buildgen::wrapped;
using buildgen::write;

inline constexpr const char* kMade = "// Made by optiongen of the rooms' options.yaml and the verbs.\n";

/// Writes OUT/FOLDER/options.h and options.cpp, and ranges.h if the room has ranges.
void write_room(const Descriptions& all, const Room& room, const std::string& out);
/// Writes OUT/halfstep/api/commands.h and commands.cpp.
void write_commands(const Descriptions& all, const std::string& out);
/// Writes OUT/python/halfstep/options.py and verbs.py.
void write_python(const Descriptions& all, const std::string& out);

}  // namespace halfstep::optiongen
