// Converts pictures of different sizes into samples of one size.
#pragma once

#include <string>

#include "halfstep/core/base/tensor.h"

namespace halfstep::data {

/// Extents of a picture in pixels.
struct PictureSize {
  int64_t height = 0, width = 0;
  auto operator<=>(const PictureSize&) const = default;
  /// Example: "640 x 480", the width first, as is usual.
  std::string text() const;
};

/// First resizes to `resize` or `size` (see resize_images.h), then crops the centre.
struct Frame {
  int64_t resize = 0;                ///< short side in pixels, the long side in proportion, rounded down (0: unchanged)
  PictureSize size = {};             ///< both sides, ignoring the aspect ratio (0 x 0: unchanged)
  int64_t crop = 0;                  ///< side of the central square that is kept (0: everything)
  bool ignores_orientation = false;  ///< keep pictures as stored, ignoring the Exif orientation
  int64_t channels = 0;              ///< 1: grey, 3: colour, 0: like the data set
  bool nearest = false;              ///< resizing takes the nearest pixel, for pictures of classes

  bool operator==(const Frame&) const = default;
  /// Whether it changes sizes.
  bool cuts() const { return resize > 0 || size.height > 0 || crop > 0; }
  /// The output size for a picture of this size. Smaller than `crop` if the crop does not fit.
  PictureSize of(const PictureSize& picture) const;
  /// Throws an Error that starts with `where` for impossible or contradicting sides.
  void check(const std::string& where) const;

  /// Applies the frame to a u8 or f32 picture whose rows and columns are the axes [axis, axis + 2). `axis` is 0 for [h,
  /// w, c] and 2 for [n, c, h, w].
  Tensor apply(const Tensor& picture, size_t axis) const;
};

/// Rotates u8 [h, w, c] upright, by its Exif orientation (1 to 8).
Tensor upright(const Tensor& image, int orientation);
/// Whether the orientation swaps height and width.
inline bool turns(int orientation) { return orientation >= 5; }

/// Converts u8 [h, w, 1 or 3] to this number of channels. Grey is copied. Colours become 0.299 R + 0.587 G + 0.114 B,
/// as in Pillow's "L".
Tensor with_channels(const Tensor& image, int64_t channels);

}  // namespace halfstep::data
