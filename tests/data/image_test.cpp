#include "halfstep/data/datasets/image.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "halfstep/core/files/file.h"
#include "halfstep/data/datasets/errors.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"

namespace halfstep::data {
namespace {

using test::Bytes;
using test::diagnostic_of;

Bytes data(const std::string& name) { return io::read_file(HALFSTEP_SOURCE_DIR "/tests/data/samples/" + name); }

/// A 5 x 3 image with the value 40 y + 10 x + 3 c.
Tensor gradient(int64_t channels) {
  Tensor image(DType::u8, {3, 5, channels});
  uint8_t* to = image.data<uint8_t>().data();
  for (int y = 0; y < 3; ++y) {
    for (int x = 0; x < 5; ++x) {
      for (int c = 0; c < channels; ++c) *to++ = static_cast<uint8_t>(40 * y + 10 * x + 3 * c);
    }
  }
  return image;
}

TEST(Png, EveryKindOfPixel) {
  EXPECT_TRUE(decode_image(data("grey.png"), "i").same_bits(gradient(1)));
  EXPECT_TRUE(decode_image(data("grey16.png"), "i").same_bits(gradient(1)));
  EXPECT_TRUE(decode_image(data("rgb.png"), "i").same_bits(gradient(3)));
  EXPECT_TRUE(decode_image(data("rgba.png"), "i").same_bits(gradient(3)));
  EXPECT_TRUE(decode_image(data("palette.png"), "i").same_bits(gradient(3)));
  EXPECT_TRUE(decode_image(data("interlaced.png"), "i").same_bits(gradient(3)));
  const Tensor bits = decode_image(data("bits.png"), "i");
  EXPECT_EQ(bits.dims(), (Dims{3, 5, 1}));
  for (size_t i = 0; i < 15; ++i) EXPECT_EQ(bits.data<uint8_t>()[i], i % 2 * 255) << i;
}

TEST(Jpeg, PixelsAreThoseOfPillow) {
  for (const std::string name : {"colour.jpg", "progressive.jpg", "grey.jpg"}) {
    const Tensor image = decode_image(data(name), name);
    EXPECT_EQ(image.dims(), (Dims{16, 20, name == "grey.jpg" ? 1 : 3}));
    EXPECT_TRUE(image.same_bits(decode_image(data(name + ".png"), name))) << name;
  }
}

/// CMYK images, converted as Pillow does.
TEST(Jpeg, InksBecomeColours) {
  const Tensor image = decode_image(data("cmyk.jpg"), "i");
  EXPECT_EQ(image.dims()[2], 3);
  EXPECT_TRUE(image.same_bits(decode_image(data("cmyk.jpg.png"), "i")));
}

TEST(Image, OtherFormatsAreNamed) {
  const std::pair<const char*, const char*> kinds[] = {{"RIFF....WEBPVP8 ", "a WebP"},
                                                       {"GIF89a", "a GIF"},
                                                       {"BM......", "a BMP"},
                                                       {"....ftypheic", "a HEIF"},
                                                       {"....ftypavif", "an AVIF"}};
  for (const auto& [bytes, kind] : kinds)
    EXPECT_EQ(diagnostic_of([&] { decode_image(test::to_bytes(bytes), "i"); }),
              errors::image_form_unknown("i", fmt::format("{} image", kind)));
  EXPECT_EQ(diagnostic_of([] { decode_image(Bytes(), "i"); }), errors::image_empty("i"));
  EXPECT_EQ(other_image_kind("a/B.TIFF"), "a TIFF image");
  EXPECT_EQ(other_image_kind("a/b"), "");
}

/// upright_N.png is upright.png as a camera with orientation N stores it.
TEST(Image, Orientation) {
  const Tensor expected = decode_image(data("upright.png"), "i");
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const std::string name = fmt::format("upright_{}.png", orientation);
    const ImageHeader header = image_header(data(name), name);
    EXPECT_EQ(header.orientation, orientation);
    EXPECT_EQ(header.upright_size(), (PictureSize{expected.dims()[0], expected.dims()[1]}));
    EXPECT_TRUE(upright(decode_image(data(name), name), orientation).same_bits(expected)) << orientation;
  }
  EXPECT_EQ(image_header(data("orientation_6.jpg"), "i").orientation, 6);
}

TEST(Image, EncodedPngIsReadBack) {
  for (const int64_t channels : {1, 3})
    EXPECT_TRUE(decode_image(encode_png(gradient(channels)), "i").same_bits(gradient(channels)));
}

TEST(Image, TruncationIsAnErrorAtEveryLength) {
  for (const char* name : {"rgb.png", "palette.png", "colour.jpg", "progressive.jpg", "grey.jpg"}) {
    const Bytes bytes = data(name);
    for (size_t size = 0; size + 2 < bytes.size();
         ++size)  // without its two-byte end marker a JPEG may still be complete
      EXPECT_EQ(diagnostic_of([&] { decode_image(test::first(bytes, size), "i"); }).where, "i") << name << " " << size;
  }
}

TEST(Image, EveryChangedByteIsAnErrorOrReadsSafely) {
  for (const char* name : {"palette.png", "progressive.jpg"}) {
    const Bytes bytes = data(name);
    for (size_t i = 0; i < bytes.size(); ++i) {
      Bytes changed = bytes;
      changed[i] ^= std::byte{0xFF};
      const Diagnostic error = diagnostic_of([&] { decode_image(changed, "i"); });
      EXPECT_TRUE(error == Diagnostic{} || error.where == "i") << error.message();
    }
  }
}

TEST(Png, LargeClaimsAreRefusedBeforeMemoryIsTaken) {
  Bytes bytes = data("grey.png");
  const auto set_extent = [&](size_t at, uint32_t value) {
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<std::byte>(value >> (24 - 8 * i));
    const auto crc = static_cast<uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(&bytes[12]), 17));
    for (size_t i = 0; i < 4; ++i) bytes[29 + i] = static_cast<std::byte>(crc >> (24 - 8 * i));
  };
  set_extent(16, 20'000);
  set_extent(20, 20'000);
  EXPECT_EQ(diagnostic_of([&] { decode_image(bytes, "i"); }), errors::image_too_large("i", "20000 x 20000", 16777216));
  set_extent(16, 100'000);
  EXPECT_EQ(diagnostic_of([&] { decode_image(bytes, "i"); }), errors::image_damaged("i", "PNG", "Invalid IHDR data"));
}

/// Offset of the length of the JPEG segment with this marker.
size_t segment(const Bytes& bytes, int marker) {
  size_t at = 2;
  while (bytes[at + 1] != static_cast<std::byte>(marker))
    at += 2 + (static_cast<size_t>(bytes[at + 2]) << 8 | static_cast<size_t>(bytes[at + 3]));
  return at + 2;
}

TEST(Jpeg, TwoComponentsAreUnsupported) {
  Bytes bytes = data("colour.jpg");
  for (const auto& [marker, size, count] : {std::tuple{0xDA, 2, 2}, {0xC0, 3, 7}}) {
    const size_t at = segment(bytes, marker);
    bytes[at + 1] = static_cast<std::byte>(static_cast<int>(bytes[at + 1]) - size);
    bytes[at + static_cast<size_t>(count)] = std::byte{2};
    const auto last = bytes.begin() + static_cast<std::ptrdiff_t>(at) + count + 1 + 2 * size;
    bytes.erase(last, last + size);
  }
  EXPECT_EQ(diagnostic_of([&] { decode_image(bytes, "i"); }), errors::jpeg_components_unsupported("i", 2));
}

TEST(Image, Names) {
  for (const char* name : {"a.png", "d.x/a.JPG", "a.b.jpeg"}) EXPECT_TRUE(is_image_name(name)) << name;
  for (const char* name : {"a.gif", "png", "a.png.txt", ""}) EXPECT_FALSE(is_image_name(name)) << name;
}

}  // namespace
}  // namespace halfstep::data
