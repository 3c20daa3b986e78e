// A value as a file: its cells, bare or as an array of NumPy's or as text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "halfstep/verify/board/manifest.h"

namespace halfstep::board {

/// The file of `tensor` as `entry` says (layout, format); borders have the code of 0.
std::vector<std::byte> file_of(const Tensor& tensor, const Entry& entry);

/// The cells that a file has: of bare ones the file itself. Throws, starting with `where`, for what is no such file or
/// has other elements than `entry` says.
std::vector<std::byte> cells_of(std::span<const std::byte> file, const Entry& entry, const std::string& where);

}  // namespace halfstep::board
