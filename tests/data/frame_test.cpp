#include "halfstep/data/datasets/frame.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/data/datasets/resize_images.h"
#include "tests/support/error.h"

namespace halfstep::data {
namespace {

using test::diagnostic_of;

Tensor picture(const std::string& name) {
  return decode_image(io::read_file(HALFSTEP_SOURCE_DIR "/tests/data/samples/" + name), name);
}

int largest_difference(const Tensor& a, const Tensor& b) {
  EXPECT_EQ(a.dims(), b.dims());
  int largest = 0;
  for (size_t i = 0; i < a.data<uint8_t>().size(); ++i)
    largest = std::max(largest, std::abs(int{a.data<uint8_t>()[i]} - int{b.data<uint8_t>()[i]}));
  return largest;
}

TEST(Resample, PixelsAreWithinOneOfPillow) {
  const Tensor noise = picture("noise.png");
  for (const auto& [height, width] : {std::pair{17, 24}, {64, 90}, {1, 53}, {37, 5}}) {
    const Tensor found = Frame{.size = {height, width}}.apply(noise, 0);
    EXPECT_LE(largest_difference(found, picture(fmt::format("noise_{}x{}.png", height, width))), 1)
        << height << " x " << width;
  }
}

/// Weighted means of the neighbours, by hand: 4 elements become 2. Each result has three elements with weights 3/7,
/// 3/7, 1/7, or four with weights 1/8, 3/8, 3/8, 1/8 where all four exist.
TEST(Resample, WeightsByHand) {
  const Tensor row = Tensor::of<float>(DType::f32, {4}, std::array<float, 4>{7, 14, 28, 56});
  const auto half = resample(row, 0, 2);
  EXPECT_FLOAT_EQ(half.data<float>()[0], (7 * 3 + 14 * 3 + 28) / 7.0F);
  EXPECT_FLOAT_EQ(half.data<float>()[1], (14 + 28 * 3 + 56 * 3) / 7.0F);
  const Tensor pair = Tensor::of<uint8_t>(DType::u8, {2}, std::array<uint8_t, 2>{0, 101});
  const auto four = resample(pair, 0, 4);
  const auto values = four.data<uint8_t>();
  EXPECT_EQ((std::vector<int>{values.begin(), values.end()}), (std::vector<int>{0, 25, 76, 101}));
  EXPECT_TRUE(resample(row, 0, 4).same_bits(row));
}

TEST(Frame, ShortSideThenTheMiddle) {
  const Frame frame{.resize = 256, .crop = 224};
  EXPECT_EQ(frame.of({480, 640}), (PictureSize{224, 224}));
  EXPECT_EQ((Frame{.resize = 256}).of({480, 641}), (PictureSize{256, 341}));
  EXPECT_EQ((Frame{.resize = 256}).of({641, 480}), (PictureSize{341, 256}));
  EXPECT_EQ((Frame{.crop = 9}).of({8, 20}), (PictureSize{8, 9}));
  Tensor ramp(DType::u8, {1, 8, 1});
  for (size_t i = 0; i < 8; ++i) ramp.data<uint8_t>()[i] = static_cast<uint8_t>(i);
  // Like torchvision's center_crop: half a pixel rounds to even.
  EXPECT_EQ((Frame{.crop = 1}).apply(ramp, 0).data<uint8_t>()[0], 4);  // margin 3.5
  const Tensor five = Frame{.crop = 3}.apply(Frame{.size = {1, 8}}.apply(ramp, 0), 0);
  EXPECT_EQ(five.data<uint8_t>()[0], 2);  // margin 2.5
}

TEST(Frame, SidesThatContradictEachOther) {
  const auto error = [](const Frame& frame) { return diagnostic_of([&] { frame.check("here"); }); };
  EXPECT_EQ(error({.resize = 256, .crop = 224}), Diagnostic{});
  EXPECT_EQ(error({.resize = 200, .crop = 224}), errors::crop_larger_than_image("here", 224, 200));
  EXPECT_EQ(error({.resize = 3, .size = {3, 3}}), errors::frame_resize_and_size("here"));
  EXPECT_EQ(error({.size = {3, 0}}), errors::frame_size_incomplete("here"));
  EXPECT_EQ(error({.crop = -1}), errors::number_out_of_range("here: crop", -1, "1 to 32768 pixels"));
}

TEST(Frame, ChannelsAsPillowConverts) {
  const Tensor grey = Tensor::of<uint8_t>(DType::u8, {1, 2, 1}, std::array<uint8_t, 2>{3, 200});
  const Tensor colour = with_channels(grey, 3);
  EXPECT_EQ(colour.data<uint8_t>()[5], 200);
  EXPECT_TRUE(with_channels(colour, 1).same_bits(grey));
  const Tensor red = Tensor::of<uint8_t>(DType::u8, {1, 1, 3}, std::array<uint8_t, 3>{255, 0, 0});
  EXPECT_EQ(with_channels(red, 1).data<uint8_t>()[0], 76);
}

}  // namespace
}  // namespace halfstep::data
