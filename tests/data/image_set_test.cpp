// Images that are decoded when they are requested.
#include "halfstep/data/datasets/image_set.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/files/atomic_file.h"
#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/dataset.h"
#include "halfstep/data/datasets/errors.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::data {
namespace {

using test::diagnostic_of;

test::Bytes image(const std::string& name) { return io::read_file(HALFSTEP_SOURCE_DIR "/tests/data/samples/" + name); }

class Pictures : public testing::Test {
 protected:
  void put(const std::string& path, const test::Bytes& bytes) {
    std::filesystem::create_directories((folder / path).parent_path());
    io::write_file(folder / path, bytes);
  }
  Dataset load(const DataOptions& options = {}) { return load_dataset(folder.path(), kMaxClasses, options); }
  std::string where() const { return folder.path().string(); }

  test::TemporaryFolder folder;
};

TEST_F(Pictures, ManySizesBecomeOne) {
  put("a/1.png", image("rgb.png"));
  put("a/2.jpg", image("colour.jpg"));
  put("b/3.png", image("grey.png"));
  const Dataset data = load();
  EXPECT_EQ(data.sample_dims(), (Dims{3, kUnknown, kUnknown}));
  const std::vector<int64_t> all = {0, 1, 2};
  EXPECT_EQ(diagnostic_of([&] { data.batch(all); }),
            errors::image_sizes_differ(where(), "a/2.jpg", "20 x 16", "5 x 3"));
  const Frame frame{.resize = 4, .crop = 3};
  EXPECT_EQ(data.sample_dims(frame), (Dims{3, 3, 3}));
  EXPECT_EQ(data.batch(all, frame).dims(), (Dims{3, 3, 3, 3}));
  EXPECT_EQ(data.sample_dims({.crop = 3, .channels = 1}), (Dims{1, 3, 3}));
}

TEST_F(Pictures, WhatIsReadAheadIsWhatIsRead) {
  for (int i = 0; i < 9; ++i) put(fmt::format("{}.png", i), image(i % 2 == 0 ? "noise.png" : "upright.png"));
  const Dataset data = load();
  const Frame frame{.size = {5, 6}};
  const std::vector<int64_t> first = {3, 1, 3}, second = {8, 0};
  const Tensor expected = data.batch(second, frame);
  for (const auto& asked : {second, first}) {
    const Dataset fresh = load();
    fresh.images->read_ahead(second, frame);
    EXPECT_TRUE(fresh.batch(asked, frame).same_bits(data.batch(asked, frame)));
    EXPECT_TRUE(fresh.batch(second, frame).same_bits(expected));  // now read from the cache
  }
  io::write_file(folder / "5.png", image("rgb.png"));  // the file has been replaced
  data.images->read_ahead({5}, Frame{});
  EXPECT_EQ(test::name_of([&] { data.batch(std::vector<int64_t>{5, 0}); }), "image_sizes_differ");
}

TEST_F(Pictures, HeldInAnyWay) {
  for (int i = 1; i <= 8; ++i) put(fmt::format("{}.png", i), image(fmt::format("upright_{}.png", i)));
  const Dataset data = load();
  const std::vector<int64_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  const Tensor pixels = data.batch(all);
  EXPECT_EQ(pixels.dims(), (Dims{8, 3, 3, 4}));
  for (int64_t i = 1; i < 8; ++i) EXPECT_TRUE(pixels.rows(i, i + 1).same_bits(pixels.rows(0, 1))) << i;
  EXPECT_EQ(data.sample_dims({.ignores_orientation = true}), (Dims{3, kUnknown, kUnknown}));
}

TEST_F(Pictures, BadOnesAreNamedTogetherOrLeftOut) {
  put("a/1.png", image("rgb.png"));
  put("a/2.png", test::first(image("rgb.png"), 20));
  put("b/3.webp", test::to_bytes("RIFF....WEBP"));
  put("b/4.jpg", test::Bytes());
  put("b/5.jpg", test::first(image("colour.jpg"), image("colour.jpg").size() - 40));
  put("b/6.jpg", image("colour.jpg"));
  const std::vector<Diagnostic> all = test::diagnostics_of([&] { load(); });
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all[0], errors::images_unreadable(where(), 3, 6));
  EXPECT_EQ(all[1].entry, &errors::image_damaged_entry);
  EXPECT_EQ(all[1].where, where() + ": a/2.png");
  EXPECT_EQ(all[2], errors::image_form_unknown(where() + ": b/3.webp", "a WebP image"));
  EXPECT_EQ(all[3], errors::image_empty(where() + ": b/4.jpg"));
  const Dataset data = load({.skip_bad = true});
  EXPECT_EQ(data.size(), 2);
  EXPECT_EQ(data.skipped().size(), 4U);  // images with missing pixels count too
  EXPECT_EQ(data.classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(data.labels.data<int32_t>()[1], 1);
  for (const char* path : {"a/1.png", "b/6.jpg"}) std::filesystem::remove(folder / path);
  EXPECT_EQ(diagnostic_of([&] { load({.skip_bad = true}); }), errors::no_image_readable(where(), 4));
}

}  // namespace
}  // namespace halfstep::data
