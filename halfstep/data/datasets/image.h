// PNG and JPEG to pixels.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halfstep/data/datasets/frame.h"

namespace halfstep::data {

/// Largest image, in pixels: 4096 x 4096.
inline constexpr int64_t kMaxPixels = int64_t{1} << 24;

/// What stands at the start of an image.
struct ImageHeader {
  PictureSize size;      ///< as stored
  int64_t channels = 0;  ///< 1 (grey) or 3 (RGB)
  int orientation = 1;   ///< of Exif: how the camera was held, 1 to 8

  PictureSize upright_size() const { return turns(orientation) ? PictureSize{size.width, size.height} : size; }
};

/// u8 [height, width, channels], channels 1 (grey) or 3 (RGB), as the file has it: 16 bits become the upper 8, palettes
/// and printing inks become colours, transparency is dropped, no gamma is applied, orientation does not count. The
/// format is told by the contents. Damaged or truncated data throws; other formats are named.
Tensor decode_image(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_png(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name);

/// Of the first bytes of an image; throws where they are too few.
ImageHeader image_header(std::span<const std::byte> bytes, const std::string& name);
ImageHeader png_header(std::span<const std::byte> bytes, const std::string& name);
ImageHeader jpeg_header(std::span<const std::byte> bytes, const std::string& name);

/// u8 [height, width, 1 or 3] as a PNG file.
std::vector<std::byte> encode_png(const Tensor& image);

/// Whether a file is one of these by its name: .png, .jpg, .jpeg, in any case.
bool is_image_name(std::string_view path);
/// "a WebP image": a kind that is not read, by a file's name; "" for any other.
std::string_view other_image_kind(std::string_view path);

}  // namespace halfstep::data
