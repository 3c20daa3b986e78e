#include "halfstep/data/pipeline/augment.h"

#include <fmt/format.h>

#include <algorithm>

#include "halfstep/core/base/random.h"
#include "halfstep/core/base/shape.h"
#include "halfstep/core/base/status.h"
#include "halfstep/data/pipeline/errors.h"

namespace halfstep::data {
namespace {

/// Number of the first random stream. Streams of shuffling have the numbers of epochs.
constexpr uint64_t kFirstStream = uint64_t{1} << 32;

/// dst[x] = src[x + right], mirrored if `mirrored`, and unchanged outside the row.
void move_row(const float* src, int64_t width, int64_t right, bool mirrored, float* dst) {
  for (int64_t x = 0; x < width; ++x) {
    const int64_t from = (mirrored ? width - 1 - x : x) + right;
    if (from >= 0 && from < width) dst[x] = src[from];
  }
}

}  // namespace

std::string Augment::text() const {
  if (!any()) return "none";
  if (shift == 0) return "flip";
  return fmt::format("{}shift {}", flip ? "flip, " : "", shift);
}

void Augment::check(const Dims& sample, const std::string& data) const {
  if (sample.size() != 3) fail(errors::augmented_samples_not_images(data, to_string(sample)));
  if (shift >= std::min(sample[1], sample[2])) fail(errors::shift_too_large(shift, sample[1], sample[2], data));
}

Tensor Augment::apply(const Tensor& x, uint64_t seed, uint64_t step, float outside) const {
  const Dims& dims = x.dims();
  const int64_t channels = dims[1], height = dims[2], width = dims[3];
  Random random(seed, kFirstStream + step);
  Tensor result(DType::f32, dims);
  std::ranges::fill(result.data<float>(), outside);
  for (int64_t n = 0; n < dims[0]; ++n) {
    const bool mirrored = flip && random.below(2) == 1;
    const auto distance = [&] {
      return static_cast<int64_t>(random.below(static_cast<uint64_t>(2 * shift + 1))) - shift;
    };
    const int64_t down = distance(), right = distance();
    for (int64_t c = 0; c < channels; ++c) {
      const int64_t plane = (n * channels + c) * height * width;
      for (int64_t y = std::max<int64_t>(0, -down); y < std::min(height, height - down); ++y)
        move_row(x.data<float>().data() + plane + (y + down) * width, width, right, mirrored,
                 result.data<float>().data() + plane + y * width);
    }
  }
  return result;
}

}  // namespace halfstep::data
