// The wire parser: limits, unread fields, and malicious files.
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/onnx_messages.h"

#include <gtest/gtest.h>

#include "halfstep/formats/onnx/onnx_file.h"
#include "tests/formats/build.h"
#include "tests/support/error.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::kind_of;
using test::bytes_of;
using test::ModelText;

std::string short_text(const std::string& text) { return short_form(bytes_of(text), WireRoot::model, "m.onnx"); }

/// A length-delimited field.
std::string field(int number, const std::string& contents) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  size_t size = contents.size();
  for (; size >= 128; size >>= 7) text.push_back(static_cast<char>(size | 128));
  text.push_back(static_cast<char>(size));
  return text + contents;
}

ModelText large_model() {
  ModelText text;
  text.input("x", {-1, 64});
  text.add_tensor(test::floats("w", {32, 64}, std::vector<float>(2048, 0.5F)));
  text.add("Gemm", {"x", "w"}, {"y"}, {test::attribute("transB", 1)});
  text.output("y");
  return text;
}

TEST(Wire, leaves_large_tensors_in_the_file) {
  const std::string text = large_model().text();
  const std::string shorter = short_text(text);
  EXPECT_LT(shorter.size(), 600u);
  proto::Model model;
  ASSERT_TRUE(model.ParseFromString(shorter));
  ASSERT_EQ(model.graph().initializer(0).place_size(), 1);
  const Place place = place_of(model.graph().initializer(0).place(0));
  EXPECT_EQ(place.field, 9u);
  EXPECT_EQ(place.length, 8192u);
  EXPECT_EQ(text.substr(place.offset, 4), std::string("\0\0\0\x3f", 4));
}

TEST(Wire, keeps_what_it_does_not_leave_out) {
  const ModelText text = large_model();
  proto::Model model;
  ASSERT_TRUE(model.ParseFromString(short_text(text.text())));
  EXPECT_EQ(model.graph().node(0).SerializeAsString(), text.model.graph().node(0).SerializeAsString());
  EXPECT_EQ(model.graph().input(0).SerializeAsString(), text.model.graph().input(0).SerializeAsString());
}

TEST(Wire, drops_fields_that_are_not_read) {
  const std::string text = large_model().text() + field(6, "documentation") + field(14, std::string(5000, 'x'));
  EXPECT_EQ(short_text(text), short_text(large_model().text()));
}

TEST(Wire, a_place_that_a_file_claims_is_none) {
  const std::string tensor = field(15, to_bytes({9, 0, 1 << 30})) + field(8, "w");
  const std::string shorter = short_text(field(7, field(5, tensor)));
  proto::Model model;
  ASSERT_TRUE(model.ParseFromString(shorter));
  EXPECT_EQ(model.graph().initializer(0).place_size(), 0);
  EXPECT_EQ(model.graph().initializer(0).name(), "w");
}

TEST(Wire, every_truncated_file_is_refused) {
  const std::string text = large_model().text();
  std::vector<size_t> sizes;
  for (size_t size = 0; size < 400; ++size) sizes.push_back(size);
  for (size_t size = 1024; size < text.size(); size += 1024) sizes.push_back(size);
  for (const size_t size : sizes) {
    SCOPED_TRACE(size);
    const std::string part = text.substr(0, size);
    EXPECT_EQ(kind_of([&] { parse(bytes_of(part), "m.onnx"); }), ErrorKind::bad_input);
  }
  const Diagnostic cut = diagnostic_of([&] { parse(bytes_of(text.substr(0, 4096)), "m.onnx"); });
  EXPECT_EQ(cut.entry, &errors::message_cut_off_entry);
  EXPECT_TRUE(cut.where.starts_with("m.onnx: byte ")) << cut.where;
}

TEST(Wire, names_what_is_no_protobuf) {
  EXPECT_EQ(diagnostic_of([] { short_text("\x0f\x01"); }),
            errors::message_field_wrong("m.onnx", 0, "the tag 15", "the tag of a field of a protobuf message"));
  EXPECT_EQ(diagnostic_of([] { short_text(std::string("\x3a\x05\x0a", 3)); }),
            errors::message_cut_off("m.onnx", 1, "a field", 5, 1));
  EXPECT_EQ(diagnostic_of([] { short_text(std::string(20, '\xff')); }), errors::message_number_cut_off("m.onnx", 0));
  EXPECT_EQ(diagnostic_of([] { short_text("\x38\x05"); }),
            errors::message_field_wrong("m.onnx", 0, "field 7 with the wire type 0", "the wire type 2"));
}

TEST(Wire, ten_thousand_graphs_inside_each_other) {
  std::string graph;
  for (int i = 0; i < 10'000; ++i) graph = field(1, field(5, field(6, graph)));
  const Diagnostic deep = diagnostic_of([&] { short_text(field(7, graph)); });
  EXPECT_EQ(deep.entry, &errors::graphs_inside_each_other_entry);
  EXPECT_EQ(deep.expected, "at most 128");
}

TEST(Wire, fifty_megabytes_of_empty_messages) {
  std::string graph;
  for (size_t i = 0; i < 25'000'000; ++i) graph += std::string_view("\x0a\x00", 2);
  const auto refused = [](const std::string& text) {
    const Diagnostic found = diagnostic_of([&] { short_text(text); });
    return found.entry == &errors::message_too_large_entry ? found.found : found.message();
  };
  EXPECT_EQ(refused(field(7, graph)), "more than 400000 nodes");
  std::string inputs;
  for (size_t i = 0; i < 25'000'000; ++i) inputs += std::string_view("\x5a\x00", 2);
  const std::string memory = "more than 128 MiB of messages, names and numbers";
  EXPECT_EQ(refused(field(7, inputs)), memory);
  std::string names;
  for (size_t i = 0; i < 25'000'000; ++i) names += std::string_view("\x0a\x00", 2);
  EXPECT_EQ(refused(field(7, field(1, names))), memory);
}

TEST(Wire, long_names_are_refused) {
  const std::string text = field(7, field(2, std::string(70'000, 'n')));
  EXPECT_EQ(diagnostic_of([&] { short_text(text); }),
            errors::message_too_large("m.onnx", 4, "a name of 70000 bytes", "at most 65535"));
}

TEST(Wire, recognizes_models_by_their_fields) {
  EXPECT_TRUE(looks_like_model(bytes_of(large_model().text())));
  for (const std::string text : {"", "graph x {}", "{\"a\": 1}", "PK\x03\x04", "\x93NUMPY"})
    EXPECT_FALSE(looks_like_model(bytes_of(text))) << text;
  const std::string safetensors = std::string("\x10\0\0\0\0\0\0\0", 8) + "{\"a\":{}}";
  EXPECT_FALSE(looks_like_model(bytes_of(safetensors)));
}

}  // namespace
}  // namespace halfstep::formats::onnx
