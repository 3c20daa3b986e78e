// The one thing of Exif that changes pixels: how the camera was held.
#pragma once

#include <cstddef>
#include <span>

namespace halfstep::data {

/// Tag 0x0112 of the first directory of a TIFF block, 1 to 8; 1 (upright) where there is none or the block is damaged,
/// as every viewer takes it.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace halfstep::data
