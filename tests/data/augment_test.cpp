// Flips and shifts of images in a training step.
#include "halfstep/data/pipeline/augment.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "halfstep/data/pipeline/errors.h"
#include "tests/support/error.h"

namespace halfstep::data {
namespace {

using test::diagnostic_of;

/// Every pixel has a different number, from 1 on.
Tensor numbered(const Dims& dims) {
  Tensor x(DType::f32, dims);
  std::iota(x.data<float>().begin(), x.data<float>().end(), 1.0F);
  return x;
}

std::vector<float> image(const Tensor& x, int64_t n) {
  const int64_t size = count_elements(x.dims()) / x.dims()[0];
  const auto all = x.data<float>().subspan(static_cast<size_t>(n * size), static_cast<size_t>(size));
  return {all.begin(), all.end()};
}

TEST(Augment, FlipMirrorsAboutHalfOfTheImages) {
  const Tensor x = numbered({200, 1, 2, 3});
  const Tensor y = data::Augment{{.flip = true}}.apply(x, 1, 0);
  int mirrored = 0;
  for (int64_t n = 0; n < 200; ++n) {
    const auto from = image(x, n), to = image(y, n);
    if (from == to) continue;
    ++mirrored;
    EXPECT_EQ(to, (std::vector{from[2], from[1], from[0], from[5], from[4], from[3]}));
  }
  EXPECT_GT(mirrored, 70);
  EXPECT_LT(mirrored, 130);
}

TEST(Augment, ShiftMovesAllChannelsAlikeAndBringsZerosIn) {
  const Tensor x = numbered({300, 2, 4, 5});
  const Tensor y = data::Augment{{.shift = 1}}.apply(x, 2, 7);
  std::set<std::pair<int, int>> distances;
  for (int64_t n = 0; n < 300; ++n) {
    const auto from = image(x, n), to = image(y, n);
    // A pixel inside the image stays inside: finds the new position of the number at (1, 1) of the first channel.
    const auto at = std::find(to.begin(), to.end(), from[6]) - to.begin();
    const int down = static_cast<int>(at / 5) - 1, right = static_cast<int>(at % 5) - 1;
    distances.emplace(down, right);
    for (int c = 0; c < 2; ++c) {
      for (int i = 0; i < 20; ++i) {
        const int row = i / 5 - down, column = i % 5 - right;
        const bool inside = row >= 0 && row < 4 && column >= 0 && column < 5;
        const float expected = inside ? from[static_cast<size_t>(c * 20 + row * 5 + column)] : 0.0F;
        ASSERT_EQ(to[static_cast<size_t>(c * 20 + i)], expected);
      }
    }
  }
  EXPECT_EQ(distances.size(), 9U);
}

TEST(Augment, DependsOnSeedAndStepAlone) {
  const Tensor x = numbered({50, 1, 6, 6});
  const data::Augment both{{.flip = true, .shift = 2}};
  EXPECT_TRUE(both.apply(x, 3, 4).same_bits(both.apply(x, 3, 4)));
  EXPECT_FALSE(both.apply(x, 3, 4).same_bits(both.apply(x, 3, 5)));
  EXPECT_FALSE(both.apply(x, 3, 4).same_bits(both.apply(x, 4, 4)));
}

TEST(Augment, TakesImagesLargerThanTheShift) {
  const data::Augment shift{{.shift = 8}};
  EXPECT_EQ(diagnostic_of([&] { shift.check({64}, "table"); }), errors::augmented_samples_not_images("table", "[64]"));
  EXPECT_EQ(diagnostic_of([&] { shift.check({1, 8, 9}, "digits"); }), errors::shift_too_large(8, 8, 9, "digits"));
}

}  // namespace
}  // namespace halfstep::data
