// Reads a ProgramDesc: the protobuf message of a .pdmodel file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

/// Throws bad_input that starts with `name`.
Program read_program_desc(std::span<const std::byte> bytes, const std::string& name);

/// Whether the bytes start like a ProgramDesc.
bool looks_like_program_desc(std::span<const std::byte> bytes);

}  // namespace halfstep::formats::paddle
