// Memory of tensors.
#pragma once

#include <cstddef>
#include <memory>

#include "halfstep/core/base/divide.h"

namespace halfstep {

/// Alignment of every tensor and planned buffer, in bytes: one cache line, one AVX-512 vector.
inline constexpr size_t kAlignment = 64;

/// `bytes` and what follows them up to a multiple of kAlignment.
constexpr size_t aligned(size_t bytes) { return round_up(bytes, kAlignment); }

/// Blocks of this many bytes and more are kept by how long ago they were let go of, smaller ones by their size.
inline constexpr size_t kLargeBlock = size_t{1} << 20;

/// `bytes` of memory, aligned to kAlignment, contents undefined; throws std::bad_alloc. Touching fresh memory of the
/// system costs as much as a pass over it, so blocks that are let go of serve later calls of about their size: of large
/// ones at most an eighth of the machine's memory is kept, the longest unused goes first; of others at most 64 MiB.
std::shared_ptr<std::byte> allocate(size_t bytes);

}  // namespace halfstep
