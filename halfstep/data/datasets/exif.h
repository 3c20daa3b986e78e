// Reads the only Exif tag that changes pixels: the orientation of the camera.
#pragma once

#include <cstddef>
#include <span>

namespace halfstep::data {

/// Tag 0x0112 of the first directory of a TIFF block, 1 to 8. Returns 1 (upright) if the tag is missing or the block is
/// damaged, like image viewers.
int exif_orientation(std::span<const std::byte> tiff);

}  // namespace halfstep::data
