// Memory of the system.
#pragma once

#include <cstddef>

namespace halfstep {

/// `bytes` (at least 1), aligned to kAlignment, in huge pages from 4 MiB on; contents undefined. For std::free. Throws
/// std::bad_alloc.
std::byte* system_memory(size_t bytes);

/// Bytes that the machine has.
size_t machine_memory();

}  // namespace halfstep
