#include "halfstep/data/datasets/idx.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/data/datasets/errors.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"

namespace halfstep::data {
namespace {

using test::Bytes;
using test::diagnostic_of;

Bytes idx(int code, std::initializer_list<uint32_t> dims, const Bytes& data) {
  Bytes bytes = {std::byte{0}, std::byte{0}, static_cast<std::byte>(code), static_cast<std::byte>(dims.size())};
  for (const uint32_t extent : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<std::byte>(extent >> shift));
  }
  return test::joined(bytes, data);
}

Tensor parse(const Bytes& bytes) { return read_idx(*io::memory_source(bytes, "f")); }

LabelledData parse_pair(const Bytes& images, const Bytes& labels) {
  return read_idx_pair(*io::memory_source(images, "i"), *io::memory_source(labels, "l"), 10);
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
    EXPECT_EQ(diagnostic_of([&] { parse(test::first(bytes, size)); }),
              size < 16 ? errors::idx_truncated("f")
                        : errors::idx_size("f", fmt::format("{} bytes of data", size - 16), "24 for u8[2, 3, 4]"));
  }
}

TEST(Idx, BadHeaders) {
  EXPECT_EQ(diagnostic_of([] { parse(test::to_bytes("\x89PNG....")); }), errors::not_idx("f", "89504e47"));
  EXPECT_EQ(diagnostic_of([] { parse(idx(7, {1}, Bytes(1))); }), errors::not_idx("f", "00000701"));
  EXPECT_EQ(diagnostic_of([] {
              parse(idx(8, {UINT32_MAX, UINT32_MAX, UINT32_MAX}, {}));
            }),
            errors::idx_size("f", "u8[4294967295, 4294967295, 4294967295]", "at most 2^48 bytes"));
  EXPECT_EQ(diagnostic_of([] { parse(idx(8, {UINT32_MAX}, Bytes(3))); }),
            errors::idx_size("f", "3 bytes of data", "4294967295 for u8[4294967295]"));
  EXPECT_EQ(diagnostic_of([] { parse(idx(8, {2}, Bytes(3))); }),
            errors::idx_size("f", "more data", "2 bytes for u8[2]"));
}

TEST(Idx, PairsThatDoNotFit) {
  const Bytes images = idx(8, {2, 1, 2}, Bytes(4));
  EXPECT_EQ(diagnostic_of([&] { parse_pair(images, idx(8, {3}, Bytes(3))); }),
            errors::labels_and_samples_differ("l", 3, 2));
  EXPECT_EQ(diagnostic_of([&] {
              parse_pair(images, idx(8, {2}, {std::byte{1}, std::byte{10}}));
            }),
            errors::label_out_of_range("l", 1, 10, 9));
  EXPECT_EQ(diagnostic_of([&] { parse_pair(images, images); }), errors::idx_type("l", "u8[2, 1, 2]", "labels: u8[n]"));
  EXPECT_EQ(diagnostic_of([&] { parse_pair(idx(8, {2}, Bytes(2)), images); }),
            errors::idx_type("i", "u8[2]", "images: u8[n, height, width]"));
}

}  // namespace
}  // namespace halfstep::data
