// PNG and JPEG to pixels.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "halfstep/base/tensor.h"

namespace halfstep::io {

/// Largest image, in pixels: 4096 x 4096.
inline constexpr int64_t kMaxPixels = int64_t{1} << 24;

/// u8 [height, width, channels], channels 1 (grey) or 3 (RGB), as the file has it: 16 bits become the upper 8, palettes
/// become colours, transparency is dropped, no gamma is applied. The format is told by the contents. Damaged or
/// truncated data throws.
Tensor decode_image(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_png(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name);

/// Whether a file is one of these by its name: .png, .jpg, .jpeg, in any case.
bool is_image_name(std::string_view path);

}  // namespace halfstep::io
