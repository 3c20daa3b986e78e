// Matches the values of two sides. Internal to halfstep/verify/board.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/verify/board/side.h"

namespace halfstep::board {

/// For each entry of `first`, the entry of `second` with the same name, or with the same numbers in any order.
std::vector<std::optional<size_t>> match(const Side& first, const Side& second);

}  // namespace halfstep::board
