// Decodes PNG and JPEG into pixels.
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

/// Header of an image.
struct ImageHeader {
  PictureSize size;      ///< size as stored
  int64_t channels = 0;  ///< 1 (grey) or 3 (RGB)
  int orientation = 1;   ///< Exif orientation of the camera, 1 to 8

  PictureSize upright_size() const { return turns(orientation) ? PictureSize{size.width, size.height} : size; }
};

/// u8 [height, width, channels] with 1 (grey) or 3 (RGB) channels, like the file. 16-bit samples keep the upper 8 bits.
/// Palettes and printing inks become colours. Transparency is dropped, no gamma is applied, and the orientation is
/// ignored. The contents determine the format. Throws for damaged or truncated data, and for other formats by their
/// name.
Tensor decode_image(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_png(std::span<const std::byte> bytes, const std::string& name);
Tensor decode_jpeg(std::span<const std::byte> bytes, const std::string& name);

/// u8 [height, width, 1]: the values of the pixels of a PNG of up to 8 bits in grey, or their places in its palette.
/// Throws for other images.
Tensor decode_classes(std::span<const std::byte> bytes, const std::string& name);

/// The header from the first bytes of an image. Throws if there are too few bytes.
ImageHeader image_header(std::span<const std::byte> bytes, const std::string& name);
ImageHeader png_header(std::span<const std::byte> bytes, const std::string& name);
ImageHeader jpeg_header(std::span<const std::byte> bytes, const std::string& name);

/// u8 [height, width, 1 or 3] as a PNG file.
std::vector<std::byte> encode_png(const Tensor& image);

/// Whether the name ends with .png, .jpg or .jpeg, in any case.
bool is_image_name(std::string_view path);
/// Kind of an image that is not supported, by its file name ("a WebP image"). "" for any other file.
std::string_view other_image_kind(std::string_view path);

}  // namespace halfstep::data
