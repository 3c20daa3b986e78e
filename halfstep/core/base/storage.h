// Memory of tensors.
#pragma once

#include <cstddef>
#include <memory>

#include "halfstep/core/base/divide.h"

namespace halfstep {

/// Alignment of every tensor and planned buffer, in bytes: one cache line, or one AVX-512 vector.
inline constexpr size_t kAlignment = 64;

/// Rounds `bytes` up to a multiple of kAlignment.
constexpr size_t aligned(size_t bytes) { return round_up(bytes, kAlignment); }

/// Smallest size of a large block, in bytes. Free large blocks are ordered by age, smaller ones by size.
inline constexpr size_t kLargeBlock = size_t{1} << 20;

/// Allocates `bytes` of memory, aligned to kAlignment, with undefined contents. Throws std::bad_alloc. First use of new
/// system memory costs as much as a pass over it, so released blocks serve later calls of similar size. The cache keeps
/// large blocks up to an eighth of the machine's memory and evicts the oldest first. It keeps other blocks up to 64
/// MiB.
std::shared_ptr<std::byte> allocate(size_t bytes);

}  // namespace halfstep
