// Layouts, compared with index formulas that this test states independently, on random extents.
#include "halfstep/verify/board/layout.h"

#include <gtest/gtest.h>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/base/random.h"
#include "halfstep/verify/board/errors.h"
#include "tests/support/error.h"

namespace halfstep::board {
namespace {

Layout layout(const char* order, Packing packing = Packing::none) {
  Layout result;
  set_order(result, parse_order(order, "test"));
  result.packing = packing;
  return result;
}

Tensor random_codes(DType type, const Dims& dims, Random& random, int64_t most) {
  Tensor codes(type, dims);
  for (int64_t i = 0; i < codes.size(); ++i)
    set_element(codes, i, static_cast<double>(random.below(static_cast<uint64_t>(most))));
  return codes;
}

TEST(Layout, has_the_reference_pages_check_values) {
  // Element (1, 37, 2, 4) of [2, 40, 3, 5] and its expected position.
  Tensor codes(DType::u8, {2, 40, 3, 5});
  set_element(codes, ((1 * 40 + 37) * 3 + 2) * 5 + 4, 7);
  const std::map<std::string, std::pair<size_t, size_t>> places = {
      {"nchw", {1169, 1200}}, {"nhwc", {1197, 1200}}, {"ndhwc32", {1893, 1920}}};
  for (const auto& [order, place] : places) {
    const auto bytes = encode(codes, layout(order.c_str()));
    ASSERT_EQ(bytes.size(), place.second) << order;
    for (size_t i = 0; i < bytes.size(); ++i)
      EXPECT_EQ(static_cast<int>(bytes[i]), i == place.first ? 7 : 0) << order << " " << i;
  }
}

TEST(Layout, packs_nibbles_of_a_pixel) {
  const std::vector<uint8_t> channels = {1, 2, 3, 4, 15};
  const Tensor codes = Tensor::of<uint8_t>(DType::u8, {1, 5, 1, 1}, channels);
  const std::vector<std::byte> low = {std::byte{0x21}, std::byte{0x43}, std::byte{0x0f}};
  const std::vector<std::byte> high = {std::byte{0x12}, std::byte{0x34}, std::byte{0xf0}};
  EXPECT_EQ(encode(codes, layout("nhwc", Packing::low_first)), low);
  EXPECT_EQ(encode(codes, layout("nhwc", Packing::high_first)), high);
}

/// Position of an element, by the formulas of the documentation page.
int64_t cell_of(const Layout& how, const ImageDims& d, int64_t n, int64_t c, int64_t h, int64_t w) {
  const int64_t rows = d.h + how.border.top + how.border.bottom, columns = d.w + how.border.left + how.border.right;
  const auto even = [&](int64_t count) { return how.packing == Packing::none ? count : (count + 1) / 2 * 2; };
  h += how.border.top;
  w += how.border.left;
  if (how.order == Order::nchw) return ((n * d.c + c) * rows + h) * even(columns) + w;
  if (how.order == Order::nhwc) return ((n * rows + h) * columns + w) * even(d.c) + c;
  const int64_t blocks = (d.c + how.block - 1) / how.block;
  return (((n * blocks + c / how.block) * rows + h) * columns + w) * even(how.block) + c % how.block;
}

TEST(Layout, every_element_is_where_the_formula_says_and_comes_back) {
  Random random(11, 0);
  const auto pick = [&](int64_t most) { return static_cast<int64_t>(random.below(static_cast<uint64_t>(most))); };
  for (int round = 0; round < 300; ++round) {
    Layout how = layout(std::array{"nchw", "nhwc", "ndhwc32", "ndhwc8", "ndhwc4"}[static_cast<size_t>(pick(5))]);
    const DType type = std::array{DType::u8, DType::i8, DType::u16, DType::i16}[static_cast<size_t>(pick(4))];
    const bool narrow = size_of(type) == 1 && pick(2) == 0;
    if (narrow) how.packing = pick(2) == 0 ? Packing::low_first : Packing::high_first;
    how.offset = pick(2) == 0;
    how.big_endian = size_of(type) > 1 && pick(2) == 0;
    if (pick(2) == 0) how.border = {pick(3), pick(3), pick(3), pick(3)};
    const Dims dims = {1 + pick(3), 1 + pick(40), 1 + pick(6), 1 + pick(6)};
    const Tensor codes = random_codes(type, dims, random, narrow ? (type == DType::i8 ? 8 : 16) : 128);
    const auto bytes = encode(codes, how, 3);
    const ImageDims image = ImageDims::of(dims);
    SCOPED_TRACE(describe(how) + " " + to_string(codes.type()));
    ASSERT_EQ(static_cast<int64_t>(bytes.size()), image.n * sample_bytes(image, type, how));
    ASSERT_EQ(static_cast<int64_t>(bytes.size()),
              count_elements(stored_type(codes.type(), how).dims) *
                  static_cast<int64_t>(size_of(stored_type(codes.type(), how).dtype)));
    ASSERT_TRUE(decode(bytes, type, dims, how).same_bits(codes));
    if (how.big_endian) continue;
    for (int64_t i = 0; i < codes.size(); ++i) {
      const int64_t n = i / image.sample(), c = i / (image.h * image.w) % image.c, h = i / image.w % image.h,
                    w = i % image.w, cell = cell_of(how, image, n, c, h, w);
      const auto code = static_cast<uint16_t>(static_cast<int64_t>(element(codes, i)));
      if (narrow) {
        const auto byte = static_cast<unsigned>(bytes[static_cast<size_t>(cell / 2)]);
        const bool low = (cell % 2 == 0) == (how.packing == Packing::low_first);
        ASSERT_EQ((low ? byte : byte >> 4) & 15U, (code ^ (how.offset ? 8U : 0U)) & 15U) << i;
      } else {
        uint16_t found = 0;
        std::memcpy(&found, bytes.data() + cell * static_cast<int64_t>(size_of(type)), size_of(type));
        const unsigned top = how.offset ? (size_of(type) == 1 ? 0x80U : 0x8000U) : 0U;
        ASSERT_EQ(found, static_cast<uint16_t>((code ^ top) & (size_of(type) == 1 ? 0xFFU : 0xFFFFU))) << i;
      }
    }
  }
}

TEST(Layout, borders_have_the_code_of_zero_and_filled_channels_0) {
  Layout how = layout("ndhwc4");
  how.border = {1, 0, 0, 1};
  const auto bytes = encode(Tensor(DType::u8, {1, 2, 1, 1}), how, 9);
  const std::vector<std::byte> expected = {
      std::byte{9}, std::byte{9}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{9}, std::byte{0}, std::byte{0},
      std::byte{0}, std::byte{0}, std::byte{0}, std::byte{0}, std::byte{9}, std::byte{9}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(bytes, expected);
}

TEST(Layout, says_what_it_does_not_know) {
  const std::string orders = "nchw, nhwc or ndhwcB, as in ndhwc32: blocks of B channels, 2 to 1024";
  for (const char* order : {"hwcn", "ndhwc1"})
    EXPECT_EQ(test::diagnostic_of([&] { parse_order(order, "layout"); }),
              errors::dump_layout_unknown("layout", order, orders));
  EXPECT_EQ(test::diagnostic_of([&] { parse_packing("middle", "packing"); }),
            errors::dump_layout_unknown("packing", "middle", "none, low_first or high_first"));
}

TEST(Layout, leaves_out_what_a_value_cannot_have) {
  Layout how = layout("nchw", Packing::low_first);
  how.border = {1, 1, 1, 1};
  how.offset = true;
  EXPECT_EQ(describe(layout_for(how, Dims{1, 3, 4, 4}, DType::u8, 4)),
            "NCHW, two codes in a byte, low nibble first, offset by 128, with a border [1, 1, 1, 1]");
  EXPECT_EQ(describe(layout_for(how, Dims{1, 3, 4, 4}, DType::u8, 8)),
            "NCHW, offset by 128, with a border [1, 1, 1, 1]");
  EXPECT_EQ(describe(layout_for(how, Dims{1, 3}, DType::u8, 8)), "NHWC, offset by 128");
  EXPECT_EQ(describe(layout_for(how, Dims{1, 3}, DType::f32, 32)), "NHWC");
}

}  // namespace
}  // namespace halfstep::board
