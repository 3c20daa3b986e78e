// NumPy's .npy: one array (numpy.lib.format).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halfstep/core/base/tensor.h"

namespace halfstep::io {

/// What parse_npz says of one array; `where` starts the messages.
Tensor parse_npy(std::span<const std::byte> bytes, const std::string& where);

/// Version 1.0, C order. i4 becomes int8; bf16 is `unsupported`.
std::vector<std::byte> serialize_npy(const Tensor& tensor, const std::string& where);

}  // namespace halfstep::io
