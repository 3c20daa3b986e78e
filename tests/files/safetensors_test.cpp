#include "halfstep/core/files/safetensors.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "halfstep/core/files/errors.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::diagnostic_of;

/// A file with this header and `data` data bytes.
Bytes with_header(const std::string& header, size_t data) {
  Bytes bytes(8);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(header.size() >> (8 * i));
  bytes = test::joined(std::move(bytes), test::to_bytes(header));
  bytes.resize(bytes.size() + data);
  return bytes;
}

Diagnostic header_error(const std::string& header, size_t data = 4) {
  return diagnostic_of([&] { parse_safetensors(with_header(header, data), "m"); });
}

TensorFile sample() {
  TensorFile file;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::bf16, DType::i8, DType::u8, DType::i16,
                            DType::u16, DType::i32, DType::i64, DType::boolean}) {
    Tensor tensor(dtype, {2, 3});
    for (size_t i = 0; i < tensor.bytes(); ++i)
      tensor.raw()[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : i);
    file.tensors.emplace("t." + std::string(name(dtype)), tensor);
  }
  file.tensors.emplace("empty", Tensor(DType::f32, {3, 0, 2}));
  file.tensors.emplace("scalar", Tensor::scalar(1.5F).reshaped({}));
  file.metadata = {{"graph", "line 1\n\"quoted\"\t\\"}, {"version", "1"}, {"\xC3\xA9", "\xE2\x82\xAC"}};
  return file;
}

TEST(Safetensors, RoundTripOfEveryDType) {
  const TensorFile before = sample();
  const Bytes bytes = serialize_safetensors(before);
  const TensorFile after = parse_safetensors(bytes, "m");
  EXPECT_EQ(after.metadata, before.metadata);
  ASSERT_EQ(after.tensors.size(), before.tensors.size());
  for (const auto& [name, tensor] : before.tensors) EXPECT_TRUE(after.tensors.at(name).same_bits(tensor)) << name;
  EXPECT_EQ(serialize_safetensors(after), bytes);
}

TEST(Safetensors, BytesAreThoseOfTheFormat) {
  TensorFile file;
  file.tensors.emplace("b", Tensor::of<uint8_t>(DType::u8, {3}, std::array<uint8_t, 3>{1, 2, 3}));
  file.tensors.emplace("a", Tensor::of<float>(DType::f32, {1}, std::array<float, 1>{1.0F}));
  file.metadata["k"] = "v";
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  Bytes expected = with_header(padded, 0);
  for (const int byte : {0, 0, 0x80, 0x3f, 1, 2, 3}) expected.push_back(static_cast<std::byte>(byte));
  EXPECT_EQ(serialize_safetensors(file), expected);
}

TEST(Safetensors, NoTensors) {
  EXPECT_TRUE(parse_safetensors(with_header("{}", 0), "m").tensors.empty());
  EXPECT_TRUE(parse_safetensors(serialize_safetensors({}), "m").tensors.empty());
  TensorFile file;  // the product of its other extents exceeds the data size, which is 0
  file.tensors.emplace("x", Tensor(DType::f32, {2, 6, 6, 0}));
  EXPECT_EQ(parse_safetensors(serialize_safetensors(file), "m").tensors.at("x").dims(), (Dims{2, 6, 6, 0}));
}

TEST(Safetensors, FilesAreReadAndWritten) {
  const test::TemporaryFolder folder;
  write_safetensors(folder / "m.safetensors", sample());
  EXPECT_EQ(read_safetensors(folder / "m.safetensors").metadata, sample().metadata);
  const auto none = folder / "none";
  EXPECT_EQ(diagnostic_of([&] { read_safetensors(none); }),
            errors::cannot_be_read(none.string(), "no such file or directory"));
}

TEST(Safetensors, TruncationIsAnErrorAtEveryLength) {
  const Bytes bytes = serialize_safetensors(sample());
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_TRUE(diagnostic_of([&] { parse_safetensors(test::first(bytes, size), "m"); }).where.starts_with("m"))
        << size;
  EXPECT_TRUE(diagnostic_of([&] { parse_safetensors(test::joined(bytes, Bytes(1)), "m"); }).where.starts_with("m"));
}

TEST(Safetensors, EveryFlippedHeaderBitIsAnErrorOrReadsSafely) {
  TensorFile file;
  file.tensors.emplace("a", Tensor(DType::f32, {2}));
  const Bytes bytes = serialize_safetensors(file);
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    Bytes flipped = bytes;
    flipped[bit / 8] ^= static_cast<std::byte>(1 << bit % 8);
    const Diagnostic error = diagnostic_of([&] { parse_safetensors(flipped, "m"); });
    EXPECT_TRUE(error == Diagnostic{} || error.where.starts_with("m")) << error.message();
  }
}

TEST(Safetensors, HeaderLength) {
  EXPECT_EQ(diagnostic_of([] { parse_safetensors(Bytes(7), "m"); }),
            errors::safetensors_header_length("m", "7 bytes", "a safetensors file with its 8-byte header length"));
  EXPECT_EQ(diagnostic_of([] { parse_safetensors(Bytes(8, std::byte{0xFF}), "m"); }),
            errors::safetensors_header_length("m: header length", "18446744073709551615 bytes", "at most 100000000"));
  Bytes bytes = with_header("{}", 0);
  bytes[0] = std::byte{100};
  EXPECT_EQ(diagnostic_of([&] { parse_safetensors(bytes, "m"); }),
            errors::safetensors_header_length("m: header length", "100 bytes", "at most 2"));
}

TEST(Safetensors, HeaderSyntax) {
  EXPECT_EQ(header_error("{"), errors::safetensors_header_not_json("m", 2));
  EXPECT_EQ(header_error("{\"a\": \"\xFF\"}"), errors::safetensors_header_not_json("m", 8));
  EXPECT_EQ(header_error("[]"), errors::safetensors_header_value("m: header", "a list", "an object"));
  EXPECT_EQ(header_error("3"), errors::safetensors_header_value("m: header", "3", "an object"));
  EXPECT_EQ(header_error(R"({"a":1})"), errors::safetensors_header_value("m: header: 'a'", "1", "an object"));
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":1}})"),
            errors::safetensors_header_value("m: header: __metadata__: 'a'", "1", "a string"));
  EXPECT_EQ(header_error(R"({"__metadata__":{"a":"","a":""}})"), errors::given_twice("m: header: __metadata__: 'a'"));
  EXPECT_EQ(header_error(R"({"__metadata__":{},"__metadata__":{}})"), errors::given_twice("m: header: '__metadata__'"));
  EXPECT_EQ(header_error(std::string(1'000'000, '[')),
            errors::safetensors_header_value("m: header", "a list", "an object"));
  EXPECT_EQ(
      header_error(R"({"a":{"shape":)" + std::string(1'000'000, '[')),
      errors::safetensors_header_value("m: header: tensor 'a': shape", "a list", "an integer from 0 to 2^63 - 1"));
}

TEST(Safetensors, TensorEntries) {
  EXPECT_EQ(header_error(R"({"a":{}})"), errors::safetensors_key_missing("m", "a", "dtype"));
  EXPECT_EQ(header_error(R"({"a":{"dtype":"F32","shape":[1]}})"),
            errors::safetensors_key_missing("m", "a", "data_offsets"));
  EXPECT_EQ(header_error(R"({"a":{"size":1}})"), errors::safetensors_key_unknown("m", "a", "size"));
  EXPECT_EQ(header_error(R"({"a":{"dtype":"F32","dtype":"F32"}})"),
            errors::given_twice("m: header: tensor 'a': dtype"));
  EXPECT_EQ(header_error(R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{}})"),
            errors::given_twice("m: header: tensor 'a'"));
  EXPECT_EQ(header_error(R"({"a":{"dtype":7}})"),
            errors::safetensors_header_value("m: header: tensor 'a': dtype", "7", "a string"));
  for (const char* bad : {"-1", "1.5", "9223372036854775808", "null", "true", "\"1\"", "{}"})
    EXPECT_EQ(header_error(fmt::format(R"({{"a":{{"shape":[{}]}}}})", bad)).expected, "an integer from 0 to 2^63 - 1")
        << bad;
}

std::string entry(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return fmt::format(R"({{"dtype":"{}","shape":{},"data_offsets":{}}})", dtype, shape, offsets);
}

TEST(Safetensors, SizesAndOffsets) {
  const auto one = [](const std::string& e) { return header_error("{\"a\":" + e + "}"); };
  EXPECT_EQ(one(entry("F32", "[1]", "[0,4]")), Diagnostic{});
  EXPECT_EQ(one(entry("F31", "[1]", "[0,4]")), errors::safetensors_type_unknown("m: tensor 'a'", "F31"));
  EXPECT_EQ(one(entry("C64", "[1]", "[0,8]")), errors::safetensors_type_unsupported("m: tensor 'a'", "C64"));
  EXPECT_EQ(one(entry("F32", "[1]", "[0]")), errors::safetensors_header_value("m: tensor 'a'", "1 data_offsets", 2));
  EXPECT_EQ(one(entry("F32", "[2]", "[0,8]")), errors::safetensors_offsets("m: tensor 'a'", 0, 8, 4));
  EXPECT_EQ(one(entry("F32", "[2]", "[4,0]")), errors::safetensors_offsets("m: tensor 'a'", 4, 0, 4));
  EXPECT_EQ(one(entry("F32", "[2]", "[0,4]")), errors::safetensors_size("m: tensor 'a'", "F32[2]", 4));
  EXPECT_EQ(one(entry("F32", "[4611686018427387904,4]", "[0,4]")),
            errors::safetensors_size("m: tensor 'a'", "F32[4611686018427387904, 4]", 4));
  EXPECT_EQ(one(entry("F32", "[4294967296,4294967296,1]", "[0,0]")),
            errors::safetensors_size("m: tensor 'a'", "F32[4294967296, 4294967296, 1]", 0));
  EXPECT_EQ(one(entry("U8", "[3]", "[1,4]")),
            errors::safetensors_layout("m: tensor 'a'", "there is a gap before it", 1, 0));
  EXPECT_EQ(one(entry("U8", "[3]", "[0,3]")),
            errors::safetensors_layout("m", "there is a gap after the tensors", 3, 4));
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i) ones += ",1";
  EXPECT_EQ(one(entry("F32", ones + "]", "[0,4]")),
            errors::safetensors_header_value("m: tensor 'a'", "65 dims", "at most 64"));
}

TEST(Safetensors, OverlapsAndBooleans) {
  EXPECT_EQ(header_error(fmt::format(R"({{"a":{},"b":{}}})", entry("U8", "[3]", "[0,3]"), entry("U8", "[2]", "[2,4]"))),
            errors::safetensors_layout("m: tensor 'b'", "it overlaps the one before", 2, 3));
  Bytes bytes = with_header("{\"a\":" + entry("BOOL", "[4]", "[0,4]") + "}", 4);
  bytes.back() = std::byte{2};
  EXPECT_EQ(diagnostic_of([&] { parse_safetensors(bytes, "m"); }), errors::boolean_damaged("m: tensor 'a'"));
}

TEST(Pack, EveryCodeInBothHalves) {
  Tensor codes(DType::i4, {16, 16, 2});
  for (int i = 0; i < 256; ++i) {
    codes.data<int8_t>()[static_cast<size_t>(2 * i)] = static_cast<int8_t>(i % 16 - 8);
    codes.data<int8_t>()[static_cast<size_t>(2 * i + 1)] = static_cast<int8_t>(i / 16 - 8);
  }
  const Tensor packed = pack(codes);
  EXPECT_EQ(packed.type(), (Type{DType::u8, {256}}));
  EXPECT_EQ(packed.data<uint8_t>()[0], 0x88);
  EXPECT_TRUE(unpack(packed, codes.type(), "w").same_bits(codes));
}

TEST(Pack, OddCounts) {
  const Tensor codes = Tensor::of<int8_t>(DType::i4, {3}, std::array<int8_t, 3>{-1, 7, -8});
  Tensor packed = pack(codes);
  EXPECT_EQ(packed.data<uint8_t>()[0], 0x7F);
  EXPECT_EQ(packed.data<uint8_t>()[1], 0x08);
  EXPECT_TRUE(unpack(packed, {DType::i4, {3}}, "w").same_bits(codes));
  EXPECT_EQ(diagnostic_of([&] {
              unpack(packed, {DType::i4, {5}}, "w");
            }),
            errors::packed_codes_size("w", "u8[2]", 3, 4, "[5]"));
  packed.data<uint8_t>()[1] = 0x18;
  EXPECT_EQ(diagnostic_of([&] { unpack(packed, {DType::i4, {3}}, "w"); }), errors::packed_codes_rest("w"));
}

TEST(Pack, TwoBitsAndUnsignedCodes) {
  const Tensor two = Tensor::of<int8_t>(DType::i2, {5}, std::array<int8_t, 5>{-2, 1, 0, -1, 1});
  EXPECT_EQ(pack(two).data<uint8_t>()[0], 0b11'00'01'10);
  EXPECT_EQ(pack(two).data<uint8_t>()[1], 0b01);
  EXPECT_TRUE(unpack(pack(two), two.type(), "w").same_bits(two));
  const Tensor four = Tensor::of<uint8_t>(DType::u4, {3}, std::array<uint8_t, 3>{15, 8, 7});
  EXPECT_TRUE(unpack(pack(four), four.type(), "w").same_bits(four));
}

TEST(Pack, ByteElementsStayBytes) {
  const Tensor codes = Tensor::of<uint8_t>(DType::f8_e5m2fnuz, {3}, std::array<uint8_t, 3>{0x80, 0xFF, 0x7F});
  EXPECT_FALSE(safetensors_has(codes.dtype()));
  EXPECT_TRUE(unpack(pack(codes), codes.type(), "w").same_bits(codes));
}

}  // namespace
}  // namespace halfstep::io
