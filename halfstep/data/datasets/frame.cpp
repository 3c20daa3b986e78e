#include "halfstep/data/datasets/frame.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/data/datasets/resize_images.h"

namespace halfstep::data {
namespace {

/// Half of the removed pixels. A half pixel is rounded to the even integer.
int64_t margin(int64_t whole, int64_t part) {
  const int64_t rest = whole - part, half = rest / 2;
  return rest % 2 == 1 && half % 2 == 1 ? half + 1 : half;
}

/// Elements [begin, begin + extent) along `axis`.
Tensor cut(const Tensor& x, size_t axis, int64_t begin, int64_t extent) {
  Dims dims = x.dims();
  const int64_t old_extent = dims[axis];
  if (old_extent == extent) return x;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const int64_t outer = count_elements({dims.begin(), dims.begin() + at});
  const size_t inner = x.bytes() / static_cast<size_t>(outer * old_extent);
  dims[axis] = extent;
  Tensor result = Tensor::uninitialized(x.dtype(), std::move(dims));
  std::byte* to = result.raw();
  for (int64_t o = 0; o < outer; ++o)
    to = std::copy_n(x.raw() + static_cast<size_t>(o * old_extent + begin) * inner, static_cast<size_t>(extent) * inner,
                     to);
  return result;
}

}  // namespace

std::string PictureSize::text() const { return fmt::format("{} x {}", width, height); }

PictureSize Frame::of(const PictureSize& picture) const {
  PictureSize result = picture;
  if (size.height > 0) result = size;
  if (resize > 0) {
    const auto [shorter, longer] = std::minmax(picture.height, picture.width);
    const int64_t rest = std::max<int64_t>(1, resize * longer / std::max<int64_t>(1, shorter));
    result = picture.height <= picture.width ? PictureSize{resize, rest} : PictureSize{rest, resize};
  }
  if (crop > 0) result = {std::min(result.height, crop), std::min(result.width, crop)};
  return result;
}

void Frame::check(const std::string& where) const {
  constexpr int64_t kLargest = 1 << 15;
  for (const auto& [name, value] :
       {std::pair{"resize", resize}, {"crop", crop}, {"size", size.height}, {"size", size.width}}) {
    if (value < 0 || value > kLargest)
      fail(errors::number_out_of_range(fmt::format("{}: {}", where, name), value,
                                       fmt::format("1 to {} pixels", kLargest)));
  }
  if ((size.height == 0) != (size.width == 0)) fail(errors::frame_size_incomplete(where));
  if (resize > 0 && size.height > 0) fail(errors::frame_resize_and_size(where));
  const int64_t sides = resize > 0 ? resize : std::min(size.height, size.width);
  if (sides > 0 && crop > sides) fail(errors::crop_larger_than_image(where, crop, sides));
}

Tensor Frame::apply(const Tensor& picture, size_t axis) const {
  const PictureSize found{picture.dims()[axis], picture.dims()[axis + 1]};
  Frame whole = *this;
  whole.crop = 0;
  const PictureSize resized = whole.of(found), kept = of(found);
  const auto resize_axis = nearest ? resample_nearest : resample;
  const Tensor x = resize_axis(resize_axis(picture, axis + 1, resized.width), axis, resized.height);
  return cut(cut(x, axis, margin(resized.height, kept.height), kept.height), axis + 1,
             margin(resized.width, kept.width), kept.width);
}

Tensor upright(const Tensor& image, int orientation) {
  if (orientation <= 1) return image;
  const int64_t height = image.dims()[0], width = image.dims()[1], channels = image.dims()[2];
  Dims dims = image.dims();
  if (turns(orientation)) std::swap(dims[0], dims[1]);
  Tensor result = Tensor::uninitialized(DType::u8, dims);
  const bool upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const uint8_t* from = image.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t y = 0; y < dims[0]; ++y) {
    for (int64_t x = 0; x < dims[1]; ++x) {
      const int64_t row = turns(orientation) ? x : y, column = turns(orientation) ? y : x;
      const int64_t at = (upside_down ? height - 1 - row : row) * width + (mirrored ? width - 1 - column : column);
      to = std::copy_n(from + at * channels, channels, to);
    }
  }
  return result;
}

Tensor with_channels(const Tensor& image, int64_t channels) {
  const int64_t found = image.dims()[2];
  if (found == channels) return image;
  Tensor result = Tensor::uninitialized(DType::u8, {image.dims()[0], image.dims()[1], channels});
  const uint8_t* from = image.data<uint8_t>().data();
  const uint8_t* end = from + image.size();
  uint8_t* to = result.data<uint8_t>().data();
  for (; from < end; from += found) {
    if (found == 1) {
      to = std::fill_n(to, channels, from[0]);
    } else {
      *to++ = static_cast<uint8_t>((19595 * from[0] + 38470 * from[1] + 7471 * from[2] + (1 << 15)) >> 16);
    }
  }
  return result;
}

}  // namespace halfstep::data
