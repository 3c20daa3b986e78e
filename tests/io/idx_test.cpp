#include "halfstep/data/datasets/idx.h"

#include <gtest/gtest.h>

#include "tests/io/bytes.h"
#include "tests/support/error.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::error_of;

Bytes idx(int code, std::initializer_list<uint32_t> dims, const Bytes& data) {
  Bytes bytes = {std::byte{0}, std::byte{0}, static_cast<std::byte>(code), static_cast<std::byte>(dims.size())};
  for (const uint32_t extent : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(extent >> shift));
  }
  return test::joined(bytes, data);
}

Tensor parse(const Bytes& bytes) { return read_idx(*memory_source(bytes, "f")); }

LabelledData parse_pair(const Bytes& images, const Bytes& labels) {
  return read_idx_pair(*memory_source(images, "i"), *memory_source(labels, "l"), 10);
}

TEST(Idx, BigEndianNumbersAreTurned) {
  const Tensor ints = parse(idx(0x0C, {2},
                                {std::byte{0}, std::byte{0}, std::byte{1}, std::byte{2}, std::byte{0xFF},
                                 std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFE}}));
  EXPECT_EQ(ints.type(), (Type{DType::i32, {2}}));
  EXPECT_EQ(ints.data<int32_t>()[0], 258);
  EXPECT_EQ(ints.data<int32_t>()[1], -2);
  const Tensor real = parse(idx(0x0D, {1}, {std::byte{0x3F}, std::byte{0x80}, std::byte{0}, std::byte{0}}));
  EXPECT_EQ(real.data<float>()[0], 1.0F);
}

TEST(Idx, ImagesAndLabels) {
  const LabelledData data =
      parse_pair(idx(8, {2, 1, 2}, test::to_bytes("abcd")), idx(8, {2}, {std::byte{3}, std::byte{9}}));
  EXPECT_EQ(data.x.type(), (Type{DType::u8, {2, 1, 2}}));
  EXPECT_EQ(data.x.data<uint8_t>()[3], 'd');
  EXPECT_EQ(data.labels.data<int32_t>()[1], 9);
}

TEST(Idx, TruncationIsAnErrorAtEveryLength) {
  const Bytes bytes = idx(8, {2, 3, 4}, Bytes(24));
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string error = error_of([&] { parse(test::first(bytes, size)); });
    EXPECT_EQ(error, size < 16 ? "f: the IDX header is truncated"
                               : fmt::format("f: found {} bytes of data, expected 24 for u8[2, 3, 4]", size - 16));
  }
}

TEST(Idx, BadHeaders) {
  EXPECT_EQ(error_of([] { parse(test::to_bytes("\x89PNG....")); }), "f: found no IDX file: it starts with 89504e47");
  EXPECT_EQ(error_of([] { parse(idx(7, {1}, Bytes(1))); }), "f: found no IDX file: it starts with 00000701");
  EXPECT_EQ(error_of([] {
              parse(idx(8, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {}));
            }),
            "f: u8[4294967295, 4294967295, 4294967295] is too large");
  EXPECT_EQ(error_of([] { parse(idx(8, {UINT32_MAX}, Bytes(3))); }),
            "f: found 3 bytes of data, expected 4294967295 for u8[4294967295]");
  EXPECT_EQ(error_of([] { parse(idx(8, {2}, Bytes(3))); }), "f: found more data than u8[2] takes");
}

TEST(Idx, PairsThatDoNotFit) {
  const Bytes images = idx(8, {2, 1, 2}, Bytes(4));
  EXPECT_EQ(error_of([&] { parse_pair(images, idx(8, {3}, Bytes(3))); }),
            "l: found 3 labels, expected 2 as i has images");
  EXPECT_EQ(error_of([&] {
              parse_pair(images, idx(8, {2}, {std::byte{1}, std::byte{10}}));
            }),
            "l: label 1 is 10, expected 0 to 9");
  EXPECT_EQ(error_of([&] { parse_pair(images, images); }), "l: found u8[2, 1, 2], expected labels: u8[n]");
  EXPECT_EQ(error_of([&] { parse_pair(idx(8, {2}, Bytes(2)), images); }),
            "i: found u8[2], expected images: u8[n, height, width]");
}

}  // namespace
}  // namespace halfstep::io
