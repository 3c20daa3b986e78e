#include "halfstep/core/files/npz.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "halfstep/core/files/errors.h"
#include "halfstep/core/files/file.h"
#include "halfstep/core/files/npy.h"
#include "halfstep/core/files/zip.h"
#include "tests/files/bytes.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::io {
namespace {

using test::Bytes;
using test::diagnostic_of;

const std::filesystem::path kData = HALFSTEP_SOURCE_DIR "/tests/data/samples";

std::map<std::string, Tensor> parse_npz(const Bytes& bytes) { return read_npz(memory_source(bytes, "f")); }

template <class T>
void expect_counting(const Tensor& tensor, T first) {
  EXPECT_EQ(tensor.dims(), (Dims{2, 3}));
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(tensor.data<T>()[i], static_cast<T>(first + static_cast<T>(i))) << i;
}

std::map<std::string, Tensor> sample() {
  std::map<std::string, Tensor> tensors;
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i8, DType::u8, DType::i16, DType::u16,
                            DType::i32, DType::i64, DType::boolean}) {
    Tensor tensor(dtype, {2, 3});
    for (size_t i = 0; i < tensor.bytes(); ++i)
      tensor.raw()[i] = static_cast<std::byte>(dtype == DType::boolean ? i % 2 : i);
    tensors.emplace(name(dtype), tensor);
  }
  tensors.emplace("empty", Tensor(DType::f32, {3, 0, 2}));
  tensors.emplace("scalar", Tensor::scalar(1.5F).reshaped({}));
  tensors.emplace("vector", Tensor(DType::f32, {4}));
  return tensors;
}

TEST(Npz, ReadsWhatNumpyDeflates) {
  const auto tensors = read_npz(kData / "deflated.npz");
  ASSERT_EQ(tensors.size(), 13U);
  expect_counting<float>(tensors.at("f4"), -2);
  expect_counting<double>(tensors.at("f8"), -2);
  expect_counting<int8_t>(tensors.at("i1"), -2);
  expect_counting<uint8_t>(tensors.at("u1"), 0);
  expect_counting<int16_t>(tensors.at("i2"), -2);
  expect_counting<uint16_t>(tensors.at("u2"), 0);
  expect_counting<int32_t>(tensors.at("i4"), -2);
  expect_counting<int64_t>(tensors.at("i8"), -2);
  EXPECT_EQ(tensors.at("f2").type(), (Type{DType::f16, {2, 3}}));
  EXPECT_EQ(tensors.at("f2").data<uint16_t>()[0], 0xC000);  // -2
  EXPECT_EQ(tensors.at("b1").type(), (Type{DType::boolean, {3}}));
  EXPECT_EQ(tensors.at("scalar").dims(), Dims{});
  EXPECT_EQ(tensors.at("scalar").data<float>()[0], 1.5F);
  EXPECT_EQ(tensors.at("empty").dims(), (Dims{3, 0, 2}));
}

TEST(Npz, FortranOrderIsTransposed) {
  for (const char* file : {"deflated.npz", "stored.npz"}) {
    const Tensor tensor = read_npz(kData / file).at("fortran");
    EXPECT_EQ(tensor.type(), (Type{DType::i32, {2, 3, 4}}));
    for (int32_t i = 0; i < 24; ++i) EXPECT_EQ(tensor.data<int32_t>()[static_cast<size_t>(i)], i);
  }
}

TEST(Npz, RoundTripIsDeterministic) {
  const auto before = sample();
  const Bytes bytes = serialize_npz(before);
  const auto after = parse_npz(bytes);
  ASSERT_EQ(after.size(), before.size());
  for (const auto& [name, tensor] : before) EXPECT_TRUE(after.at(name).same_bits(tensor)) << name;
  EXPECT_EQ(serialize_npz(after), bytes);
}

TEST(Npz, CodesOf4BitsBecomeBytes) {
  const Tensor codes = Tensor::of<int8_t>(DType::i4, {2}, std::array<int8_t, 2>{-8, 7});
  const Tensor read = parse_npz(serialize_npz({{"w", codes}})).at("w");
  EXPECT_EQ(read.dtype(), DType::i8);
  EXPECT_EQ(read.data<int8_t>()[0], -8);
}

TEST(Npz, WhatNumpyOrWeLackIsUnsupported) {
  const std::map<std::string, Tensor> tensors = {{"x", Tensor(DType::bf16, {1})}};
  EXPECT_EQ(diagnostic_of([&] { serialize_npz(tensors); }), errors::npz_without_type("array 'x'", "bf16"));
  const auto path = (kData / "big_endian.npz").string();
  EXPECT_EQ(diagnostic_of([&] { read_npz(path); }),
            errors::npy_type_unsupported(path + ": array 'x'", "an array of '>f4'", "save array.astype('<f4')"));
}

TEST(Npz, TruncationIsAnErrorAtEveryLength) {
  for (const Bytes& bytes : {serialize_npz(sample()), read_file(kData / "deflated.npz")}) {
    for (size_t size = 0; size < bytes.size(); ++size)
      EXPECT_TRUE(diagnostic_of([&] { parse_npz(test::first(bytes, size)); }).where.starts_with("f")) << size;
  }
}

TEST(Npz, EveryChangedByteIsAnErrorOrReadsSafely) {
  const Bytes bytes = read_file(kData / "stored.npz");
  for (size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xFF}) {
      Bytes changed = bytes;
      changed[i] ^= static_cast<std::byte>(change);
      const Diagnostic error = diagnostic_of([&] { parse_npz(changed); });
      EXPECT_TRUE(error == Diagnostic{} || error.where.starts_with("f")) << error.message();
    }
  }
}

TEST(Npz, DamagedContentsAreFound) {
  Bytes bytes = serialize_npz({{"x", Tensor::scalar(1.0F)}});
  bytes[30 + 5 + 128] ^= std::byte{1};  // the first byte of data: local header, "x.npy", npy header
  EXPECT_EQ(diagnostic_of([&] { parse_npz(bytes); }),
            errors::archive_file_damaged("f", "x.npy", "ZIP bad CRC: 0xcbeb5134 should be 0x73573651"));
}

TEST(Npz, OtherFiles) {
  EXPECT_EQ(diagnostic_of([] { parse_npz(test::to_bytes(std::string(100, 'x'))); }), errors::zip_without_end("f"));
  EXPECT_EQ(diagnostic_of([] {
              parse_npz(serialize_zip({{"a.txt", Bytes(1)}}));
            }),
            errors::member_not_npy("f", "a.txt"));
  EXPECT_EQ(diagnostic_of([] { parse_npz(serialize_zip({{"a.npy", Bytes(1)}})); }), errors::not_an_npy("f: array 'a'"));
  Bytes twice = serialize_npz({{"a", Tensor::scalar(1.0F)}, {"b", Tensor::scalar(1.0F)}});
  std::ranges::replace(twice, std::byte{'b'}, std::byte{'a'});
  EXPECT_EQ(diagnostic_of([&] { parse_npz(twice); }), errors::given_twice("f: file 'a.npy'"));
}

TEST(Npz, EntriesMayNotShareTheirData) {
  const Tensor x(DType::f32, {1000});
  Bytes bytes = serialize_npz({{"a", x}, {"b", x}});
  // Both central headers point at the first local header: sizes and checksums agree.
  const size_t directory = bytes.size() - 22 - 2 * 51;
  for (size_t i = 0; i < 4; ++i) bytes[directory + 51 + 42 + i] = std::byte{0};
  EXPECT_EQ(parse_npz(bytes).size(), 1U);
}

TEST(Npz, SizesThatNoCompressionGives) {
  Bytes bytes = serialize_npz({{"x", Tensor::scalar(1.0F)}});
  for (const size_t at : {size_t{22}, bytes.size() - 22 - 51 + 24})
    for (size_t i = 0; i < 4; ++i) bytes[at + i] = std::byte{0x7F};
  EXPECT_EQ(diagnostic_of([&] { parse_npz(bytes); }),
            errors::archive_too_large("f: file 'x.npy'", "2139062143 bytes", "at most 247680"));
}

Bytes npy(const std::string& header, size_t data) {
  Bytes bytes = test::to_bytes(std::string("\x93NUMPY\x01\x00", 8));
  bytes.push_back(static_cast<std::byte>(header.size() & 0xFF));
  bytes.push_back(static_cast<std::byte>(header.size() >> 8));
  bytes = test::joined(bytes, test::to_bytes(header));
  bytes.resize(bytes.size() + data);
  return bytes;
}

TEST(Npy, Headers) {
  const auto parse = [](const std::string& header, size_t data = 4) {
    return diagnostic_of([&] { parse_npy(npy(header, data), "a"); });
  };
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }"), Diagnostic{});
  EXPECT_EQ(parse("{\"shape\":(1,1),\"fortran_order\":True,\"descr\":\"=f4\"}\n"), Diagnostic{});
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }"),
            errors::npy_size("a", "4 bytes of data", "the bytes of f32[2]"));
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", 0),
            errors::npy_size("a", "0 bytes of data", "the bytes of f32[4611686018427387904, 4]"));
  EXPECT_EQ(
      parse("{'descr': '<c8', 'fortran_order': False, 'shape': (), }"),
      errors::npy_type_unsupported("a", "an array of '<c8'", "save array.real and array.imag separately, as float32"));
  EXPECT_EQ(parse("{'descr': '|O', 'fortran_order': False, 'shape': (), }"),
            errors::npy_type_unsupported("a", "an array of '|O'", "save numbers (array.astype('float32'))"));
  EXPECT_EQ(parse("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (), }"),
            errors::npy_type_unsupported("a", "a structured array", "save each field as its own array"));
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': False, }"), errors::npy_header_damaged("a", 42));
  EXPECT_EQ(parse("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }"), errors::npy_header_damaged("a", 34));
  EXPECT_EQ(parse("{'descr': '<f4', 'shape': (-1,), }"), errors::npy_header_damaged("a", 27));
  EXPECT_EQ(parse("{'descr': '<f4', 'descr': '<f4'}"), errors::npy_key_unexpected("a", "descr"));
  EXPECT_EQ(parse("{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"), Diagnostic{});
}

TEST(Npy, VersionsAndTruncation) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }";
  Bytes bytes = npy(header, 4);
  for (size_t size = 0; size < bytes.size(); ++size)
    EXPECT_EQ(diagnostic_of([&] { parse_npy(test::first(bytes, size), "a"); }).where, "a") << size;
  bytes[6] = std::byte{4};
  EXPECT_EQ(diagnostic_of([&] { parse_npy(bytes, "a"); }), errors::npy_version_unsupported("a", 4));
  bytes[6] = std::byte{2};
  bytes.insert(bytes.begin() + 10, 2, std::byte{0});
  EXPECT_EQ(parse_npy(bytes, "a").dims(), Dims{1});
}

}  // namespace
}  // namespace halfstep::io
