// Memory from the operating system.
#pragma once

#include <cstddef>
#include <span>

namespace halfstep {

/// Allocates `bytes` (at least 1), aligned to kAlignment, with undefined contents. Uses huge pages from 4 MiB on.
/// Release it with std::free. Throws std::bad_alloc.
std::byte* system_memory(size_t bytes);

/// Tells the system that `bytes` will not be read soon. Less than 1 MiB is not worth the call. Whole, unmodified pages
/// of a mapped file release their memory and are read from the file again on the next access. All other memory stays.
void give_back_pages(std::span<const std::byte> bytes);

/// Physical memory of the machine, in bytes.
size_t machine_memory();

}  // namespace halfstep
