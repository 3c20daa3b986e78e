// Memory of the system.
#pragma once

#include <cstddef>
#include <span>

namespace halfstep {

/// `bytes` (at least 1), aligned to kAlignment, in huge pages from 4 MiB on; contents undefined. For std::free. Throws
/// std::bad_alloc.
std::byte* system_memory(size_t bytes);

/// Tells the system that `bytes`, of which less than 1 MiB are not worth it, are not read soon. Whole pages of a mapped
/// file that nobody has written to give their memory back, and come from the file again when they are read; all other
/// memory stays.
void give_back_pages(std::span<const std::byte> bytes);

/// Bytes that the machine has.
size_t machine_memory();

}  // namespace halfstep
