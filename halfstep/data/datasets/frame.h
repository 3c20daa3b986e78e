// How pictures of many sizes become samples of one.
#pragma once

#include <string>

#include "halfstep/core/base/tensor.h"

namespace halfstep::data {

/// Extents of a picture in pixels.
struct PictureSize {
  int64_t height = 0, width = 0;
  auto operator<=>(const PictureSize&) const = default;
  /// "640 x 480": width first, as people say it.
  std::string text() const;
};

/// In this order: the sides become `resize` or `size` (see resample.h), then the middle is cut out.
struct Frame {
  int64_t resize = 0;                ///< of the short side, the long one in proportion, rounded down; 0: as it is
  PictureSize size = {};             ///< of both sides, whatever the proportion; 0 x 0: as they are
  int64_t crop = 0;                  ///< both sides of the square that is kept; 0: everything
  bool ignores_orientation = false;  ///< pictures stay as they are stored, however they were held
  int64_t channels = 0;              ///< 1: grey, 3: colour; 0: as the data set has them

  bool operator==(const Frame&) const = default;
  /// Whether sizes change.
  bool cuts() const { return resize > 0 || size.height > 0 || crop > 0; }
  /// The size of what comes out for a picture of this one; less than `crop` where that is too large.
  PictureSize of(const PictureSize& picture) const;
  /// Throws Error that starts with `where` for sides that no picture can have, or that contradict each other.
  void check(const std::string& where) const;

  /// A picture u8 or f32, whose rows and columns are the axes [axis, axis + 2): [h, w, c] with 0, [n, c, h, w] with 2.
  Tensor apply(const Tensor& picture, size_t axis) const;
};

/// u8 [h, w, c] the way it was held, by the orientation of Exif (1 to 8).
Tensor upright(const Tensor& image, int orientation);
/// Whether it lies on its side.
inline bool turns(int orientation) { return orientation >= 5; }

/// u8 [h, w, 1 or 3] with so many channels: grey is copied, colours become 0.299 R + 0.587 G + 0.114 B as Pillow's "L".
Tensor with_channels(const Tensor& image, int64_t channels);

}  // namespace halfstep::data
