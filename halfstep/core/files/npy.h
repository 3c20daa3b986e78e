// NumPy's .npy format: one array (numpy.lib.format).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::io {

/// Reads one array as read_npz does. `where` starts the messages.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& where);

/// Writes version 1.0 in C order. i4 is stored as int8. bf16 is `unsupported`.
std::vector<std::byte> serialize_npy(const Tensor& tensor, const std::string& where);

}  // namespace halfstep::io
