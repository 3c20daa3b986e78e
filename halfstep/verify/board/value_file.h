// Files of values: bare cells, NumPy arrays or text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halfstep/verify/board/manifest.h"

namespace halfstep::board {

/// The file contents of `tensor` with the layout and format in `entry`. Borders have the code of 0.
std::vector<std::byte> file_of(const Tensor& tensor, const Entry& entry);

/// The cells of a file. For a bare file they are its bytes. Throws if the file is not valid or has other elements than
/// `entry`. The message starts with `where`.
std::vector<std::byte> cells_of(std::span<const std::byte> file, const Entry& entry, const std::string& where);

}  // namespace halfstep::board
