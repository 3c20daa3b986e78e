// Targets of losses: tensors beside the samples, and masks of images.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/datasets/errors.h"
#include "halfstep/data/datasets/image.h"
#include "halfstep/data/pipeline/samples.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::data {
namespace {

using test::diagnostic_of;
using test::name_of;

Tensor whole(std::vector<int64_t> values, Dims dims) {
  return Tensor::of<int64_t>(DType::i64, std::move(dims), values);
}

TEST(Targets, AreTensorsBesideTheSamples) {
  const Tensor x(DType::f32, {5, 2});
  const Dataset data = dataset_of({{"x", x},
                                   {"target", whole({1, 2, -1, -1, 3, 4, 1, 1, 1, 1}, {5, 2})},
                                   {"target_lengths", whole({2, 0, 2, 2, 2}, {5})},
                                   {"target.boxes", Tensor(DType::f64, {5, 4})}},
                                  "d.npz");
  EXPECT_TRUE(data.x.defined());
  EXPECT_FALSE(data.has_labels());
  EXPECT_EQ(data.targets.at("target").type(), (Type{DType::i32, {5, 2}}));
  EXPECT_EQ(data.targets.at("boxes").type(), (Type{DType::f32, {5, 4}}));
  const TrainTest parts = split(data);
  EXPECT_EQ(parts.train.size(), 4);
  EXPECT_EQ(parts.test.size(), 1);
  const auto types = parts.train.target_types(2);
  EXPECT_EQ(types.at("target_lengths"), (Type{DType::i32, {2}}));
  EXPECT_EQ(types.at("boxes"), (Type{DType::f32, {2, 4}}));
  EXPECT_EQ(parts.train.targets(0, 3).at("target").dims(), (Dims{3, 2}));
}

TEST(Targets, ChangeTheDigestOfTheData) {
  Dataset data = dataset_of({{"x", Tensor(DType::f32, {5, 2})}, {"target", Tensor(DType::f32, {5})}}, "d.npz");
  const std::string before = content_digest(split(data).train);
  data.targets.at("target").data<float>()[0] = data.targets.at("target").data<float>()[1] = 1;
  EXPECT_NE(content_digest(split(data).train), before);
}

TEST(Targets, AreChecked) {
  const Tensor x(DType::f32, {2, 2});
  const auto error = [&](const Tensor& target) {
    return diagnostic_of([&] { dataset_of({{"x", x}, {"target", target}}, "d.npz"); });
  };
  EXPECT_EQ(error(Tensor(DType::f32, {3})), errors::sample_counts_differ("d.npz", 3, "target", 2, "x"));
  EXPECT_EQ(error(Tensor(DType::f16, {2})), errors::target_type("d.npz", "target", "f16[2]"));
  EXPECT_EQ(error(Tensor(DType::boolean, {2})), errors::target_type("d.npz", "target", "bool[2]"));
  EXPECT_EQ(error(whole({0, int64_t{1} << 40}, {2})), errors::target_out_of_range("d.npz", "target", "1099511627776"));
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error(Tensor::of<float>(DType::f32, {2}, std::array<float, 2>{0, nan})),
            errors::not_finite("d.npz", "target", "nan", 1, ""));
}

/// Pictures of 4 x 6 and their masks, in which pixel i of picture n has the class n + i.
class Masks : public testing::Test {
 protected:
  void SetUp() override {
    for (int n = 0; n < 5; ++n) {
      Tensor picture(DType::u8, {4, 6, 3}), mask(DType::u8, {4, 6, 1});
      for (int64_t i = 0; i < 24; ++i) {
        mask.data<uint8_t>()[static_cast<size_t>(i)] = static_cast<uint8_t>(n + i);
        for (int64_t c = 0; c < 3; ++c)
          picture.data<uint8_t>()[static_cast<size_t>(3 * i + c)] = static_cast<uint8_t>(10 * (n + i));
      }
      put(fmt::format("images/{}.png", n), picture);
      put(fmt::format("masks/{}.png", n), mask);
    }
  }
  void put(const std::string& path, const Tensor& image) {
    std::filesystem::create_directories((folder / path).parent_path());
    io::write_file(folder / path, encode_png(image));
  }
  Dataset load() { return load_dataset(folder.path()); }
  std::string where() const { return folder.path().string(); }

  test::TemporaryFolder folder;
};

TEST_F(Masks, BelongToTheirImages) {
  const Dataset data = load();
  EXPECT_EQ(data.form, "image folder with masks");
  EXPECT_FALSE(data.has_labels());
  Samples samples = split(data).train;
  EXPECT_EQ(samples.size(), 4);
  samples.argument = "x";
  const Tensor masks = samples.targets(0, 4).at("target");
  EXPECT_EQ(masks.type(), samples.target_types(4).at("target"));
  EXPECT_EQ(masks.dims(), (Dims{4, 4, 6}));
  for (size_t n = 0; n < 4; ++n) {
    for (size_t i = 0; i < 24; ++i)
      EXPECT_EQ(masks.data<int32_t>()[24 * n + i], static_cast<int32_t>(samples.indices[n]) + static_cast<int32_t>(i));
  }
}

TEST_F(Masks, AreCutAndMovedLikeTheirImages) {
  const Dataset data = load();
  Samples samples = split(data).train;
  samples.argument = "x";
  samples.preprocess.frame = {.crop = 3};
  Augmentation changes{{{.flip = true, .shift = 1}}, 3, 1};
  const Tensor pictures = samples.inputs(0, 4, nullptr, changes).at("x");
  const Tensor masks = samples.targets(0, 4, nullptr, changes).at("target");
  size_t outside = 0;
  for (size_t n = 0; n < 4; ++n) {
    for (size_t i = 0; i < 9; ++i) {
      const float pixel = pictures.data<float>()[n * 27 + i];
      const int32_t found = masks.data<int32_t>()[n * 9 + i];
      if (found == 255) {
        ++outside;
        EXPECT_EQ(pixel, 0);
      } else {
        EXPECT_EQ(pixel, 10.0F * static_cast<float>(found));
      }
    }
  }
  EXPECT_GT(outside, 0U);
  samples.preprocess.frame = {.size = {2, 3}};
  const Tensor small = samples.targets(0, 1).at("target");
  const auto first = static_cast<int32_t>(samples.indices[0]);
  EXPECT_EQ(std::vector<int32_t>(small.data<int32_t>().begin(), small.data<int32_t>().end()),
            (std::vector<int32_t>{first + 7, first + 9, first + 11, first + 19, first + 21, first + 23}));
}

TEST_F(Masks, FoldersOfPartsMayBeAnywhere) {
  std::filesystem::rename(folder / "images", folder / "whole");
  std::filesystem::create_directories(folder / "images");
  std::filesystem::rename(folder / "whole", folder / "images" / "train");
  std::filesystem::rename(folder / "masks", folder / "whole");
  std::filesystem::create_directories(folder / "masks");
  std::filesystem::rename(folder / "whole", folder / "masks" / "train");
  for (const char* kind : {"images", "masks"}) {
    std::filesystem::create_directories(folder / kind / "val" / "city");
    std::filesystem::rename(folder / kind / "train" / "4.png", folder / kind / "val" / "city" / "4.png");
  }
  const TrainTest parts = split(load());
  EXPECT_EQ(parts.train.size(), 4);
  EXPECT_EQ(parts.test.indices, (std::vector<int64_t>{4}));
  EXPECT_EQ(parts.tested, "val/");
}

TEST_F(Masks, AreComplete) {
  std::filesystem::remove(folder / "masks" / "3.png");
  EXPECT_EQ(diagnostic_of([&] { load(); }), errors::image_without_mask(where(), "images/3.png", "mask"));
  std::filesystem::remove(folder / "images" / "3.png");
  std::filesystem::remove(folder / "images" / "2.png");
  EXPECT_EQ(diagnostic_of([&] { load(); }), errors::image_without_mask(where(), "masks/2.png", "image"));
}

TEST_F(Masks, StoreClasses) {
  put("masks/0.png", Tensor(DType::u8, {6, 4, 1}));
  EXPECT_EQ(diagnostic_of([&] { load(); }), errors::mask_size_differs(where(), "masks/0.png", "4 x 6", "6 x 4 pixels"));
  put("masks/0.png", Tensor(DType::u8, {4, 6, 3}));
  const Dataset data = load();
  Samples all = split(data).train;
  all.indices = {0};
  EXPECT_EQ(diagnostic_of([&] { all.targets(0, 1); }),
            errors::mask_not_classes(where() + ": masks/0.png", "3 channels"));
  EXPECT_EQ(diagnostic_of([&] { decode_classes({}, "a.jpg"); }),
            errors::mask_not_classes("a.jpg", "another kind of image"));
}

TEST(Classes, AreNumbersInTheFile) {
  const auto sample = [](const char* name) {
    return io::read_file(fmt::format(HALFSTEP_SOURCE_DIR "/tests/data/samples/{}", name));
  };
  const auto bits = sample("bits.png"), palette = sample("palette.png");
  EXPECT_EQ(*std::ranges::max_element(decode_classes(bits, "bits.png").data<uint8_t>()), 1);
  EXPECT_EQ(*std::ranges::max_element(decode_png(bits, "bits.png").data<uint8_t>()), 255);
  const Tensor classes = decode_classes(palette, "palette.png"), colours = decode_png(palette, "palette.png");
  EXPECT_EQ(classes.dims(), (Dims{3, 5, 1}));
  EXPECT_EQ(colours.dims(), (Dims{3, 5, 3}));
  EXPECT_EQ(name_of([&] { decode_classes(sample("grey16.png"), "grey16.png"); }), "mask_not_classes");
}

}  // namespace
}  // namespace halfstep::data
