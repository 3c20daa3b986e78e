// Which value of one side is which of the other. Internal to this room.
#pragma once

#include <optional>
#include <vector>

#include "halfstep/verify/board/side.h"

namespace halfstep::board {

/// By entry of `first`, the entry of `second`: of the same name, else of the same content in any order that is usual.
std::vector<std::optional<size_t>> match(const Side& first, const Side& second);

}  // namespace halfstep::board
