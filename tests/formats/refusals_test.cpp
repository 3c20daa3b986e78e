// ONNX files that are refused, by the ids of the errors.
#include <gtest/gtest.h>

#include <fstream>

#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/builder/protobuf_wire.h"
#include "halfstep/formats/import/errors.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/tensor_data.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::diagnostics_of;
using halfstep::test::name_of;
using test::attribute;
using test::bound;
using test::import_text;
using test::ModelText;

using Attributes = std::vector<proto::NodeAttribute>;

/// x [2, 3, 4, 4] and w [5, 3, 3, 3] -> op -> y.
ModelText one_node(const std::string& op, Attributes attributes = {}, std::vector<std::string> inputs = {"x"}) {
  ModelText text;
  text.input("x", {2, 3, 4, 4});
  text.add_tensor(test::floats("w", {5, 3, 3, 3}, std::vector<float>(135)));
  text.add_tensor(test::integers("dims", {5}, {0, 0, 0, 0, 0}));
  text.add_tensor(test::integers("rest", {2}, {0, -1}));
  text.add(op, std::move(inputs), {"y"}, std::move(attributes)).set_name("it");
  text.output("y");
  return text;
}

struct Refused {
  std::string name;  ///< name of the error
  ModelText text;
};

std::vector<Refused> refused_nodes() {
  const std::vector<int64_t> five = {5, 5};
  return {{"form_not_supported", one_node("Softmax", {attribute("axis", "one")})},
          {"wrong_attribute_type", one_node("Split", {attribute("axis", "one")})},
          {"wrong_attribute_word",
           one_node("MaxPool", {attribute("kernel_shape", std::vector<int64_t>{2, 2}), attribute("auto_pad", "LEFT")})},
          {"attribute_twice", one_node("Relu", {attribute("a", 1), attribute("a", 2)})},
          {"wrong_extents", one_node("Gemm", {}, {"x", "w"})},
          {"attribute_not_that_of_weights", one_node("Conv", {attribute("kernel_shape", five)}, {"x", "w"})},
          {"reshape_keeps_missing_axis", one_node("Reshape", {}, {"x", "dims"})},
          {"reshape_to_nothing", one_node("Reshape", {attribute("allowzero", 1)}, {"x", "rest"})},
          {"axis_out_of_range", one_node("Split", {attribute("axis", 7)})}};
}

TEST(Refusals, OfNodes) {
  for (const Refused& one : refused_nodes()) {
    EXPECT_EQ(name_of([&] { import_text(one.text); }), one.name);
    EXPECT_EQ(diagnostic_of([&] { import_text(one.text); }).where.substr(0, 17), "m.onnx: node 'it'") << one.name;
  }
}

TEST(Refusals, OfModels) {
  ModelText no_graph, old, twice, sparse, unknown_rank, sequence, two_outputs, another_type;
  no_graph.model.clear_graph();
  EXPECT_EQ(diagnostic_of([&] { import_text(no_graph); }), errors::not_onnx_model("m.onnx", "graph"));
  old.model.set_ir_version(99);
  EXPECT_EQ(diagnostic_of([&] { import_text(old); }), errors::ir_version_not_supported("m.onnx", 99, 15));
  twice.import_domain("", 17);
  EXPECT_EQ(diagnostic_of([&] { import_text(twice); }), errors::domain_imported_twice("m.onnx", "", 18, 17));
  sparse.graph().add_sparse_initializer();
  EXPECT_EQ(diagnostic_of([&] { import_text(sparse); }), errors::sparse_initializers("m.onnx"));
  unknown_rank.graph().add_input()->set_name("x");
  unknown_rank.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(1);
  EXPECT_EQ(diagnostic_of([&] { import_text(unknown_rank); }), errors::input_without_rank("m.onnx", "x"));
  sequence.graph().add_input()->set_name("x");
  EXPECT_EQ(name_of([&] { import_text(sequence); }), "not_a_tensor");
  two_outputs.input("x", {2});
  two_outputs.add("Relu", {"x"}, {"y", "z"}).set_name("it");
  EXPECT_EQ(diagnostic_of([&] { import_text(two_outputs); }),
            errors::output_not_supported("m.onnx: node 'it': Relu", 1));
  another_type.input("x", {2});
  another_type.add("Relu", {"x"}, {"y"});
  test::set_type(*another_type.graph().add_output(), "y", 7, {2});
  EXPECT_EQ(diagnostic_of([&] { import_text(another_type); }),
            errors::output_type_differs("m.onnx: output 'y'", "f32[2]", "int64"));
}

TEST(Refusals, OfGivenInputs) {
  const ModelText text = one_node("Relu");
  EXPECT_EQ(diagnostic_of([&] {
              import_text(text, bound({{"x", Tensor(DType::f32, {2, 3, 4})}}));
            }),
            errors::given_input_differs("m.onnx", "x", "the extents [2, 3, 4]", "[2, 3, 4, 4]"));
  EXPECT_EQ(diagnostic_of([&] {
              import_text(text, bound({{"x", Tensor(DType::i32, {2, 3, 4, 4})}}));
            }),
            errors::given_input_differs("m.onnx", "x", "i32[2, 3, 4, 4]", "f32[2, 3, 4, 4]"));
}

/// A loop without an end whose values decide a shape is unrolled.
TEST(Refusals, OfLoops) {
  const auto looped = [](bool shapes) {
    ModelText text;
    text.input("x", {2});
    text.add_tensor(test::integers("count", {}, {1 << 20}));
    proto::Graph body;
    test::set_type(*body.add_input(), "i", 7, {});
    test::set_type(*body.add_input(), "go", 9, {});
    test::set_type(*body.add_input(), "v", 1, {2});
    test::Nodes nodes(body.mutable_node());
    nodes.add("Identity", {"go"}, {"again"});
    nodes.add(shapes ? "Range" : "Relu",
              shapes ? std::vector<std::string>{"zero", "i", "one"} : std::vector<std::string>{"v"}, {"w"});
    body.add_output()->set_name("again");
    body.add_output()->set_name("w");
    text.add_tensor(test::integers("zero", {}, {0}));
    text.add_tensor(test::integers("one", {}, {1}));
    text.add("Loop", {"count", "", "x"}, {"y"}, {attribute("body", body)}).set_name("loop");
    return text;
  };
  ModelText shaped = looped(false);
  shaped.add("Cast", {"y"}, {"dims"}, {attribute("to", 7)});
  shaped.add("Reshape", {"x", "dims"}, {"z"}).set_name("it");
  shaped.output("z");
  EXPECT_EQ(diagnostic_of([&] { import_text(shaped); }).entry, &errors::depends_on_run_entry);
  ModelText unrolled = looped(true);
  unrolled.output("y");
  EXPECT_EQ(diagnostic_of([&] {
              import_text(unrolled, bound({{"x", Tensor(DType::f32, {2})}}));
            }).entry,
            &errors::too_many_iterations_entry);
}

TEST(Refusals, OfMessages) {
  const std::string dims("\x3a\x05\x2a\x03\x0a\x01\xff", 7);  // graph, initializer, extents that end inside a number
  EXPECT_EQ(diagnostic_of([&] { parse(test::bytes_of(dims), "m.onnx"); }), errors::not_protobuf("m.onnx"));
  proto::TensorData cut;
  cut.set_data_type(1);
  cut.add_dims(2);
  cut.add_place(to_bytes({4, 0, 5}));
  const std::string file(5, '\0');
  const auto read = [&] { from_message(cut, type_of(cut, "t"), test::bytes_of(file), nullptr, "t"); };
  EXPECT_EQ(diagnostic_of(read), errors::tensor_list_cut_off("t"));
  cut.clear_place();
  cut.add_place(to_bytes({9, 0, 5}));
  cut.set_raw_data("12345678");
  EXPECT_EQ(diagnostic_of(read), errors::tensor_elements_twice("t"));
}

TEST(Refusals, OfFilesOfNoFormat) {
  const halfstep::test::TemporaryFolder folder;
  std::ofstream(folder / "a.txt") << "nothing";
  EXPECT_EQ(diagnostic_of([&] { formats::open(folder / "a.txt"); }),
            errors::unknown_file_format((folder / "a.txt").string()));
}

/// An import names the first reasons, and a remedy for each.
TEST(Refusals, AreNamedTogether) {
  ModelText text;
  text.input("x", {2});
  for (int i = 0; i < 15; ++i) {
    const std::string name = fmt::format("y{}", i);
    text.add("Relu", {"x"}, {name}, {attribute(fmt::format("speed{}", i), 1)}).set_name(name);
    text.output(name);
  }
  const std::string bytes = text.text();
  const auto file = parse(test::bytes_of(bytes), "m.onnx");
  const auto found = diagnostics_of([&] { import_whole(*file, bound()); });
  ASSERT_EQ(found.size(), 14u);
  for (size_t i = 0; i < 13; ++i) {
    Diagnostic expected =
        errors::attribute_not_supported(fmt::format("m.onnx: node 'y{}': Relu", i), fmt::format("speed{} = 1", i));
    expected.remedy = found[i].remedy;
    EXPECT_EQ(found[i], expected);
    EXPECT_FALSE(found[i].remedy.empty());
  }
  EXPECT_EQ(found[13], errors::more_not_supported(2));
}

}  // namespace
}  // namespace halfstep::formats::onnx
