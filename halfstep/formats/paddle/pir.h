// Reads a PIR program: the JSON text that Paddle writes since version 3.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "halfstep/formats/paddle/paddle_program.h"

namespace halfstep::formats::paddle {

/// Throws Error that starts with `name`.
Program read_pir(std::span<const std::byte> bytes, const std::string& name);

/// Whether the bytes start like a PIR program.
bool looks_like_pir(std::span<const std::byte> bytes);

}  // namespace halfstep::formats::paddle
