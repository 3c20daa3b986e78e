// Tensors of ONNX files: every element type in both storage forms, wrong sizes, external data.
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/foreign_operand.h"
#include "halfstep/formats/onnx/dtypes.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/onnx_file.h"
#include "halfstep/formats/onnx/tensor_data.h"
#include "tests/formats/build.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::kind_of;

Tensor read(const proto::TensorData& tensor) { return from_message(tensor, type_of(tensor, "t"), {}, nullptr, "t"); }

proto::TensorData empty(int type, std::vector<int64_t> dims) {
  proto::TensorData tensor;
  tensor.set_data_type(type);
  tensor.mutable_dims()->Add(dims.begin(), dims.end());
  return tensor;
}

std::vector<double> numbers(const Tensor& tensor) {
  std::vector<double> list;
  for (int64_t i = 0; i < tensor.size(); ++i) list.push_back(element(tensor, i));
  return list;
}

TEST(OnnxTensor, raw_and_typed_fields_agree) {
  struct Case {
    int type;
    std::string raw;  ///< two elements
    std::vector<int32_t> typed;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {
      {2, std::string("\x01\xff", 2), {1, 255}, {1, 255}},
      {3, std::string("\x01\xff", 2), {1, -1}, {1, -1}},
      {4, std::string("\x01\x00\xff\xff", 4), {1, 65535}, {1, 65535}},
      {5, std::string("\x01\x00\xff\xff", 4), {1, -1}, {1, -1}},
      {6, std::string("\x01\x00\x00\x00\xff\xff\xff\xff", 8), {1, -1}, {1, -1}},
      {9, std::string("\x01\x00", 2), {1, 0}, {1, 0}},
      {10, std::string("\x00\x3c\x00\xc0", 4), {0x3c00, 0xc000}, {1, -2}},
      {16, std::string("\x80\x3f\x00\xc0", 4), {0x3f80, 0xc000}, {1, -2}},
      {17, std::string("\x38\xc0", 2), {0x38, 0xc0}, {1, -2}},
      {18, std::string("\x40\xc8", 2), {0x40, 0xc8}, {1, -2}},
      {19, std::string("\x3c\xc0", 2), {0x3c, 0xc0}, {1, -2}},
      {20, std::string("\x40\xc4", 2), {0x40, 0xc4}, {1, -2}},
      {21, "\xf1", {0xf1}, {1, 15}},
      {22, "\xf1", {0xf1}, {1, -1}},
      {23, "\xc2", {0xc2}, {1, -2}},
      {25, "\x0d", {0x0d}, {1, 3}},
      {26, "\x0d", {0x0d}, {1, -1}},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(onnx_type_name(one.type));
    proto::TensorData raw = empty(one.type, {2}), typed = raw;
    raw.set_raw_data(one.raw);
    typed.mutable_int32_data()->Add(one.typed.begin(), one.typed.end());
    EXPECT_EQ(numbers(read(raw)), one.expected);
    EXPECT_EQ(numbers(read(typed)), one.expected);
    EXPECT_EQ(onnx_type_of(read(raw).dtype()), one.type);
  }
}

TEST(OnnxTensor, fields_of_their_own) {
  proto::TensorData f = empty(1, {2}), d = empty(11, {2}), i = empty(7, {2});
  f.add_float_data(0.5F), f.add_float_data(-2);
  d.add_double_data(0.1), d.add_double_data(-2);
  i.add_int64_data(int64_t{1} << 40), i.add_int64_data(-2);
  EXPECT_EQ(numbers(read(f)), (std::vector<double>{0.5, -2}));
  EXPECT_EQ(numbers(read(d)), (std::vector<double>{0.1, -2}));
  EXPECT_EQ(numbers(read(i)), (std::vector<double>{1099511627776.0, -2}));
}

TEST(OnnxTensor, wrong_sizes_and_types) {
  const auto refusal = [](const proto::TensorData& tensor) { return diagnostic_of([&] { read(tensor); }); };
  proto::TensorData raw = empty(1, {3});
  raw.set_raw_data("12345678");
  EXPECT_EQ(refusal(raw), errors::tensor_size("t", 8, "bytes", 12, "f32[3]"));
  proto::TensorData typed = empty(1, {3});
  typed.add_float_data(1);
  EXPECT_EQ(refusal(typed), errors::tensor_size("t", 1, "elements", 3, "f32[3]"));
  EXPECT_EQ(refusal(empty(1, {-1})), errors::negative_extents("t", "[?]"));
  EXPECT_EQ(refusal(empty(1, std::vector<int64_t>(65, 1))), errors::rank_too_large("t", 65, 64));
  EXPECT_EQ(refusal(empty(1, {int64_t{1} << 20, int64_t{1} << 20})),
            errors::tensor_size("t", 0, "elements", int64_t{1} << 40, "f32[1048576, 1048576]"));
  EXPECT_TRUE(refusal(empty(1, {INT64_MAX, INT64_MAX})).where.starts_with("t"));
  EXPECT_EQ(refusal(empty(8, {1})), errors::element_type_not_supported("t", "string"));
  EXPECT_EQ(kind_of([] { read(empty(14, {1})); }), ErrorKind::unsupported);
  EXPECT_EQ(refusal(empty(77, {1})), errors::element_type_unknown("t", 77));
  proto::TensorData boolean = empty(9, {1});
  boolean.set_raw_data("\x02");
  EXPECT_EQ(refusal(boolean), errors::tensor_boolean("t"));
}

/// A folder with a model in it and data outside of it.
class External : public testing::Test {
 protected:
  External() : model_folder_(outer_ / "model") {
    std::filesystem::create_directory(model_folder_);
    for (const auto& path : {model_folder_ / "in.bin", outer_ / "out.bin"}) {
      std::ofstream stream(path, std::ios::binary);
      const float values[] = {9, 1, 2};
      stream.write(reinterpret_cast<const char*>(values), sizeof values);
    }
    std::ofstream(model_folder_ / "m.onnx", std::ios::binary) << test::ModelText().text();
    file_ = OnnxFile::open(model_folder_ / "m.onnx");
  }
  Tensor read_from(const std::string& location, const std::string& offset = "4", const std::string& length = "8") {
    proto::TensorData tensor = empty(1, {2});
    tensor.set_data_location(1);
    for (const auto& [key, value] : {std::pair("location", location), {"offset", offset}, {"length", length}}) {
      auto& entry = *tensor.add_external_data();
      entry.set_key(key);
      entry.set_value(value);
    }
    return file_->contents(tensor, "t");
  }
  Diagnostic refusal(const std::string& location, const std::string& offset = "4", const std::string& length = "8") {
    return diagnostic_of([&] { read_from(location, offset, length); });
  }

  const halfstep::test::TemporaryFolder outer_;
  const std::filesystem::path model_folder_;
  std::shared_ptr<const OnnxFile> file_;
};

TEST_F(External, is_read_from_the_folder_of_the_model) {
  EXPECT_EQ(numbers(read_from("in.bin")), (std::vector<double>{1, 2}));
  std::filesystem::create_symlink("in.bin", model_folder_ / "link.bin");
  EXPECT_EQ(numbers(read_from("link.bin")), (std::vector<double>{1, 2}));
}

TEST_F(External, cannot_leave_the_folder) {
  for (const std::string& path :
       std::vector<std::string>{"../out.bin", "x/../../out.bin", "", (outer_ / "out.bin").string()})
    EXPECT_EQ(refusal(path), errors::external_path("t", quote(path), "a path below the model's folder"));
  std::filesystem::create_symlink("../out.bin", model_folder_ / "link.bin");
  EXPECT_TRUE(refusal("link.bin").where.starts_with("t: external data"));
  std::filesystem::create_directory_symlink("..", model_folder_ / "up");
  EXPECT_TRUE(refusal("up/out.bin").where.starts_with("t: external data"));
}

TEST_F(External, must_be_there_and_long_enough) {
  EXPECT_TRUE(refusal("gone.bin").where.starts_with("t: external data"));
  EXPECT_EQ(refusal("in.bin", "13"), errors::external_outside_file("t", "in.bin", "bytes", 13, 12));
  EXPECT_EQ(refusal("in.bin", "8"), errors::external_outside_file("t", "in.bin", "8 bytes", 8, 12));
  EXPECT_EQ(refusal("in.bin", "0", "12"), errors::tensor_size("t", 12, "bytes", 8, "f32[2]"));
  EXPECT_EQ(refusal("in.bin", "-1"), errors::external_number("t", "offset", "-1"));
  EXPECT_NE(refusal(".").entry, nullptr);
}

TEST_F(External, a_file_with_one_tensor_has_none) {
  proto::TensorData tensor = empty(1, {2});
  tensor.set_data_location(1);
  const auto path = model_folder_ / "sample.pb";
  std::ofstream(path, std::ios::binary) << tensor.SerializeAsString();
  EXPECT_EQ(diagnostic_of([&] { read_tensor_file(path); }), errors::external_in_tensor_file(path.string()));
}

}  // namespace
}  // namespace halfstep::formats::onnx
