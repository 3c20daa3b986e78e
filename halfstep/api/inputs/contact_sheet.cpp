#include "halfstep/api/inputs/contact_sheet.h"

#include <algorithm>
#include <cmath>

#include "halfstep/api/errors.h"
#include "halfstep/core/files/atomic_file.h"
#include "halfstep/data/datasets/image_set.h"

namespace halfstep::api {
namespace {

constexpr int64_t kSide = 96, kGap = 4, kColumns = 12, kMost = 96;

/// Converts f32 [1, c, h, w] to u8 [h, w, c].
Tensor picture_of(const Tensor& x, bool is_u8) {
  const int64_t channels = x.dims()[1], pixels = x.dims()[2] * x.dims()[3];
  const auto values = x.data<float>();
  const auto [least, most] = is_u8 ? std::ranges::minmax_result<float>{0, 255} : std::ranges::minmax(values);
  const float width = most > least ? most - least : 1;
  Tensor picture(DType::u8, {x.dims()[2], x.dims()[3], channels});
  const auto to = picture.data<uint8_t>();
  for (int64_t i = 0; i < channels * pixels; ++i) {
    const float value = (values[static_cast<size_t>(i)] - least) / width;
    to[static_cast<size_t>(i % pixels * channels + i / pixels)] = static_cast<uint8_t>(std::lround(255 * value));
  }
  return picture;
}

Tensor picture_of(const Dataset& data, int64_t index) {
  if (data.images) return data.images->picture(index, {});
  return picture_of(data.batch(std::span(&index, 1)), data.x.dtype() == DType::u8);
}

/// Scales a picture so that its long side fits a cell of the sheet.
Tensor fitted(const Tensor& picture) {
  const int64_t height = picture.dims()[0], width = picture.dims()[1], longer = std::max(height, width);
  const data::Frame frame{
      .size = {std::max<int64_t>(1, height * kSide / longer), std::max<int64_t>(1, width * kSide / longer)}};
  return data::with_channels(frame.apply(picture, 0), 3);
}

void paste(const Tensor& picture, Tensor& sheet, int64_t top, int64_t left) {
  const int64_t height = picture.dims()[0], row = picture.dims()[1] * 3;
  const uint8_t* from = picture.data<uint8_t>().data();
  uint8_t* to = sheet.data<uint8_t>().data() + (top * sheet.dims()[1] + left) * 3;
  for (int64_t y = 0; y < height; ++y) std::copy_n(from + y * row, row, to + y * sheet.dims()[1] * 3);
}

}  // namespace

bool shows_pictures(const Dataset& data) {
  const Dims sample = data.has_x() ? data.sample_dims() : Dims();
  return sample.size() == 3 && (sample[0] == 1 || sample[0] == 3);
}

Tensor fitted_picture(const Dataset& data, int64_t index) {
  if (!shows_pictures(data))
    fail(errors::samples_not_images(data.name, to_string(data.has_x() ? data.sample_dims() : Dims())));
  return fitted(picture_of(data, index));
}

Tensor contact_sheet(const Dataset& data) {
  constexpr uint8_t kGrey = 128;
  const int64_t count = std::min(kMost, data.size()), columns = std::min(count, kColumns);
  const int64_t rows = (count + columns - 1) / columns, step = kSide + kGap;
  Tensor sheet(DType::u8, {rows * step + kGap, columns * step + kGap, 3});
  std::ranges::fill(sheet.data<uint8_t>(), kGrey);
  for (int64_t i = 0; i < count; ++i) {
    const Tensor picture = fitted_picture(data, i * data.size() / count);
    paste(picture, sheet, kGap + i / columns * step + (kSide - picture.dims()[0]) / 2,
          kGap + i % columns * step + (kSide - picture.dims()[1]) / 2);
  }
  return sheet;
}

void write_contact_sheet(const Dataset& data, const std::filesystem::path& path) {
  io::require_file_target(path);
  io::write_file(path, data::encode_png(contact_sheet(data)));
}

}  // namespace halfstep::api
