// Paddle programs: their import, comparison with Paddle's own outputs, and equal results of both formats.
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "halfstep/core/base/element_values.h"
#include "halfstep/core/files/safetensors.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/engine/compile/pipeline.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/import/import.h"
#include "halfstep/formats/paddle/errors.h"
#include "tests/formats/evaluate.h"
#include "tests/formats/paddle_build.h"
#include "tests/support/error.h"
#include "tests/support/files.h"

namespace halfstep::formats::paddle {
namespace {

using halfstep::test::diagnostic_of;
using onnx::test::bound;
using onnx::test::operators;
using test::ProgramText;

std::filesystem::path committed(const std::string& name) {
  return std::filesystem::path(HALFSTEP_SOURCE_DIR) / "tests/formats/paddle" / name;
}

Model import_program(const ProgramText& text, const Binding& binding = bound(), const std::string& parameters = "") {
  const std::string program = text.text();
  return parse(test::bytes_of(program), test::bytes_of(parameters), "m.pdmodel")->import(binding);
}

Model import_pir(const std::string& program, const Binding& binding = bound()) {
  return parse(test::bytes_of(program), {}, "m.json")->import(binding);
}

Diagnostic coverage_reason(const std::string& program) {
  const Coverage found = parse(test::bytes_of(program), {}, "m.json")->coverage(bound());
  return found.issues.empty() ? Diagnostic() : found.issues[0].reason;
}

// ---- one operator

TEST(PaddleProgram, slots_attributes_and_names) {
  ProgramText text;
  text.var("y", {2, 3});
  auto& op = text.op("leaky_relu", {{"X", "x"}}, {{"Out", "y"}});
  auto& alpha = *op.add_attrs();
  alpha.set_name("alpha");
  alpha.set_type(1);
  alpha.set_f(0.25F);
  text.fetch("y");
  const Model model = import_program(text);
  EXPECT_EQ(operators(model), "leaky_relu");
  EXPECT_EQ(model.graph.ops()[0].name(), "y");
  EXPECT_EQ(get<double>(model.graph.ops()[0].attributes(), "alpha"), 0.25);
  EXPECT_EQ(model.graph.arguments()[0].name(), "x");
  EXPECT_EQ(model.graph.body().output_names(), std::vector<std::string>{"out0"});
}

TEST(PaddleProgram, parameters_in_the_order_of_their_names) {
  ProgramText text;
  text.var("b", {3}, 5, true);
  text.var("a", {2, 3}, 5, true);
  text.var("y", {2, 3});
  text.var("z", {2, 3});
  text.op("elementwise_add", {{"X", "x"}, {"Y", "b"}}, {{"Out", "y"}});
  text.op("elementwise_add", {{"X", "y"}, {"Y", "a"}}, {{"Out", "z"}});
  text.fetch("z");
  const std::string parameters = test::record({1, 2, 3, 4, 5, 6}, {2, 3}) + test::record({7, 8, 9}, {3});
  const Model model = import_program(text, bound(), parameters);
  EXPECT_EQ(model.tensors.at("a").data<float>()[5], 6);
  EXPECT_EQ(model.tensors.at("b").data<float>()[0], 7);
}

TEST(PaddleProgram, a_variable_may_be_assigned_again) {
  ProgramText text;
  text.var("y", {2, 3});
  text.op("relu", {{"X", "x"}}, {{"Out", "y"}});
  text.op("tanh", {{"X", "y"}}, {{"Out", "y"}});
  text.fetch("y");
  EXPECT_EQ(operators(import_program(text)), "relu tanh");
}

TEST(PaddleProgram, compares_types_with_what_the_file_says) {
  ProgramText text;
  text.var("y", {3, 2});
  text.op("relu", {{"X", "x"}}, {{"Out", "y"}});
  text.fetch("y");
  EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
            errors::result_type_differs("m.pdmodel: node 'y': relu", "f32[2, 3]", "float32[3, 2]"));
}

TEST(PaddleProgram, an_output_that_no_operator_of_ours_gives_is_refused_where_it_is_read) {
  ProgramText text;
  text.var("y", {2, 3});
  text.var("shape", {0, 2, 3});
  text.var("z", {0, 2, 3});
  auto& op = text.op("flatten_contiguous_range", {{"X", "x"}}, {{"Out", "y"}, {"XShape", "shape"}});
  ProgramText::integer(op, "start_axis", 1), ProgramText::integer(op, "stop_axis", 1);
  text.fetch("y");
  EXPECT_EQ(operators(import_program(text)), "");
  text.op("relu", {{"X", "shape"}}, {{"Out", "z"}});
  EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
            errors::value_read_before_made("m.pdmodel: node 'z': relu", "shape"));
}

TEST(Pir, positions_attributes_and_lists) {
  const std::string twice =
      R"({"#":"0.combine","A":[],"I":[{"%":1},{"%":1}],"O":[{"%":5,"TT":{"#":"0.t_vec","D":[]}}]},)"
      R"({"#":"1.full","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[1]}},{"N":"value","AT":{"#":"0.a_f64","D":0.0}},)"
      R"({"N":"dtype","AT":{"#":"1.a_dtype","D":"int32"}}],"I":[],"O":[{"%":6,"TT":{"#":"0.t_dtensor","D":[{"#":"0.t_i32"},[1],"NCHW",[],0]}}]},)"
      R"({"#":"1.concat","A":[],"I":[{"%":5},{"%":6}],"O":[{"%":2,"TT":)" +
      test::type_text("4,3") + "}]}";
  const Model model = import_pir(test::pir(test::data() + "," + twice + "," + test::fetch(2)));
  EXPECT_EQ(operators(model), "concat");
  EXPECT_EQ(model.graph.ops()[0].name(), "concat_2");
  EXPECT_EQ(model.graph.outputs()[0].dims(), (Dims{4, 3}));
}

TEST(Pir, operators_in_place_are_the_same_operators) {
  EXPECT_EQ(operators(import_pir(test::pir(test::data() + "," + test::op("1.relu_") + "," + test::fetch(2)))), "relu");
}

TEST(PaddleProgram, parts_along_an_axis) {
  ProgramText text;
  text.var("a", {2, 1}), text.var("b", {2, 2});
  auto& op = text.op("split", {{"X", "x"}}, {{"Out", "a"}});
  op.mutable_outputs(0)->add_arguments("b");
  ProgramText::integer(op, "axis", -1);
  auto& sections = ProgramText::integer(op, "sections", 0);
  sections.set_type(3);
  sections.add_ints(1), sections.add_ints(-1);
  text.fetch("b");
  const Model model = import_program(text);
  EXPECT_EQ(operators(model), "slice slice");
  EXPECT_EQ(model.graph.outputs()[0].dims(), (Dims{2, 2}));
  sections.set_ints(0, 4);
  EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
            errors::parts_do_not_fit("m.pdmodel: node 'a': split", "[4, ?]", 3, 2));
}

TEST(Pir, constants_that_stand_in_the_program) {
  const std::string list =
      R"({"#":"0.a_array","D":[{"#":"0.a_f64","D":1.5},{"#":"0.a_f64","D":-2.0},{"#":"0.a_f64","D":0.25}]})";
  const std::string value =
      R"({"#":"1.assign_value","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[3]}},{"N":"dtype","AT":{"#":"1.a_dtype","D":"float32"}},)"
      R"({"N":"values","AT":)" +
      list + R"(}],"I":[],"O":[{"%":5,"TT":)" + test::type_text("3") + "}]}";
  const std::string sum = test::op("1.add", "", R"({"%":1},{"%":5})");
  const Model model = import_pir(test::pir(test::data() + "," + value + "," + sum + "," + test::fetch(2)));
  EXPECT_EQ(operators(model), "add");
  EXPECT_EQ(model.tensors.at("assign_value_5").data<float>()[1], -2);
}

/// A tensor of three numbers in the program, of that type.
std::string three_numbers(const std::string& dtype, const std::string& first) {
  const std::string list =
      R"({"#":"0.a_array","D":[{"#":"0.a_f64","D":)" + first + R"(},{"#":"0.a_f64","D":2.0},{"#":"0.a_f64","D":0.0}]})";
  const std::string value =
      R"({"#":"1.assign_value","A":[{"N":"shape","AT":{"#":"1.a_intarray","D":[3]}},{"N":"dtype","AT":{"#":"1.a_dtype","D":")" +
      dtype + R"("}},{"N":"values","AT":)" + list + R"(}],"I":[],"O":[{"%":5,"TT":)" + test::type_text("3") + "}]}";
  return test::pir(test::data() + "," + value + "," + test::fetch(5));
}

TEST(Pir, constants_that_their_type_cannot_hold) {
  const auto refusal = [](const std::string& dtype, const std::string& first) {
    return diagnostic_of([&] { import_pir(three_numbers(dtype, first)); });
  };
  const std::string where = "m.json: node 'assign_value_5': assign_value";
  for (const char* huge : {"1.13337e23", "-1e300", "9223372036854775808.0"}) {
    EXPECT_EQ(refusal("int64", huge), placed(errors::number_not_in_type(std::stod(huge), "i64"), "", where));
  }
  EXPECT_EQ(refusal("uint8", "256"), placed(errors::number_not_in_type(256, "u8"), "", where));
  EXPECT_EQ(refusal("float32", "1e30"), Diagnostic());
}

TEST(PaddleProgram, the_axes_of_a_second_operand_stand_at_axis) {
  ProgramText text;
  text.var("c", {2}, 5, true);
  text.var("y", {2, 3});
  auto& op = text.op("elementwise_add", {{"X", "x"}, {"Y", "c"}}, {{"Out", "y"}});
  ProgramText::integer(op, "axis", 0);
  text.fetch("y");
  const Model model = import_program(text, bound(), test::record({1, 2}, {2}));
  EXPECT_EQ(model.graph.ops()[0].in(1).dims(), (Dims{2, 1}));
  op.mutable_attrs(0)->set_i(2);
  EXPECT_EQ(diagnostic_of([&] {
              import_program(text, bound(), test::record({1, 2}, {2}));
            }),
            errors::axis_out_of_range("m.pdmodel: node 'y': elementwise_add", 2, "f32[2, 3] with room for f32[2]"));
}

// ---- bad files

TEST(Pir, refuses_what_it_does_not_know) {
  const auto with = [](const std::string& op) { return test::pir(test::data() + "," + op + "," + test::fetch(2)); };
  const Diagnostic nonsense = errors::operator_not_supported("m.json: node 'nonsense_2': nonsense", "");
  EXPECT_EQ(diagnostic_of([&] { import_pir(with(test::op("1.nonsense"))); }), nonsense);
  EXPECT_EQ(coverage_reason(with(test::op("1.nonsense"))), nonsense);
  const std::string relu = "m.json: node 'relu_2': relu";
  EXPECT_EQ(coverage_reason(with(test::op("1.relu", R"({"N":"strange","AT":{"#":"0.a_i32","D":3}})"))),
            errors::attribute_not_supported(relu, "strange = 3"));
  EXPECT_EQ(coverage_reason(with(test::op("1.relu", "", R"({"%":1},{"%":1})"))), errors::input_not_supported(relu, 1));
}

TEST(Pir, says_where_an_attribute_has_a_wrong_type) {
  const auto with = [](const std::string& op) { return test::pir(test::data() + "," + op + "," + test::fetch(2)); };
  EXPECT_EQ(
      diagnostic_of([&] { import_pir(with(test::op("1.softmax", R"({"N":"axis","AT":{"#":"0.a_i32","D":"one"}})"))); }),
      errors::json_value_wrong("m.json: operator 1 '1.softmax': attribute axis", "\"one\"", "an integer"));
  EXPECT_EQ(
      diagnostic_of([&] { import_pir(with(test::op("1.softmax", R"({"N":"axis","AT":{"#":"0.a_str","D":"one"}})"))); }),
      errors::wrong_attribute_type("m.json: node 'softmax_2': softmax: attribute axis", "\"one\"", "an integer"));
  EXPECT_EQ(diagnostic_of([&] { import_pir(with(test::op("1.relu", "", R"({"%":7})"))); }),
            errors::value_read_before_made("m.json: operator 1 '1.relu'", 7));
}

TEST(PaddleProgram, says_where_an_attribute_has_a_wrong_type) {
  ProgramText text;
  text.var("y", {2, 3});
  auto& op = text.op("softmax", {{"X", "x"}}, {{"Out", "y"}});
  ProgramText::integer(op, "axis", 1).set_type(1);
  text.fetch("y");
  EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
            errors::attribute_without_value("m.pdmodel: softmax: attribute axis", "number", 1));
  op.mutable_attrs(0)->set_type(2);
  op.mutable_attrs(0)->set_s("one");
  EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
            errors::wrong_attribute_type("m.pdmodel: node 'y': softmax: attribute axis", "\"one\"", "an integer"));
}

TEST(PaddleProgram, a_block_that_is_not_there_or_inside_itself) {
  ProgramText text;
  auto& op = text.op("while", {{"Condition", "x"}}, {});
  auto& block = ProgramText::integer(op, "sub_block", 0);
  block.set_type(8);
  for (const int index : {0, 1, -1}) {
    block.set_block_idx(index);
    EXPECT_EQ(diagnostic_of([&] { import_program(text); }),
              errors::block_index_wrong("m.pdmodel: while: attribute sub_block", index, "one of 1 to 0"));
  }
}

TEST(PaddleFile, parameters_that_are_missing_too_few_or_of_another_model) {
  ProgramText text;
  text.var("w", {3}, 5, true);
  text.var("y", {2, 3});
  text.op("elementwise_add", {{"X", "x"}, {"Y", "w"}}, {{"Out", "y"}});
  text.fetch("y");
  const auto refusal = [&](const std::string& parameters) {
    return diagnostic_of([&] { import_program(text, bound(), parameters); });
  };
  const std::string right = test::record({1, 2, 3}, {3});
  const std::string file = "m.pdmodel.pdiparams", where = file + ": parameter 'w'";
  EXPECT_EQ(refusal(right), Diagnostic());
  EXPECT_EQ(refusal(""), errors::parameters_end_early(where, 0, 1));
  EXPECT_EQ(refusal(right.substr(0, right.size() - 1)), errors::parameters_cut_off(where, 24, 12, 11));
  EXPECT_EQ(refusal(right + right), errors::parameters_left_over(file, 36, 1));
  EXPECT_EQ(refusal(test::record({1, 2}, {2})), errors::parameter_differs(where, "f32[2]", "float32[3]"));
  std::string version = right;
  version[12] = 1;
  EXPECT_EQ(refusal(version), errors::parameters_version(where, 12, 1, "a tensor"));

  const halfstep::test::TemporaryFolder folder;
  std::filesystem::copy(committed("qat.json"), folder / "alone.json");
  EXPECT_EQ(diagnostic_of([&] { open(folder / "alone.json"); }),
            errors::parameters_missing((folder / "alone.pdiparams").string(), 46, "alone.json"));
}

TEST(PaddleFile, a_program_cut_anywhere_is_refused) {
  const auto read = [](const std::string& name) {
    const auto mapped = io::MappedFile::open(committed(name));
    return std::string(reinterpret_cast<const char*>(mapped->bytes().data()), mapped->bytes().size());
  };
  const std::string parameters = read("control.pdiparams");
  for (const std::string name : {"control.json", "control.pdmodel"}) {
    const std::string whole = read(name);
    EXPECT_NO_THROW(parse(test::bytes_of(whole), test::bytes_of(parameters), name));
    for (size_t size = 1024; size < whole.size(); size += 1024) {
      const std::string cut = whole.substr(0, size);
      const ErrorEntry* entry =
          diagnostic_of([&] { parse(test::bytes_of(cut), test::bytes_of(parameters), name); }).entry;
      EXPECT_TRUE(entry == &errors::json_damaged_entry || entry == &errors::message_cut_off_entry) << size;
    }
  }
}

TEST(Pir, brackets_inside_each_other_are_limited) {
  const std::string deep = R"({"base_code":{"magic":"pir"},"program":)" + std::string(100'000, '[');
  EXPECT_EQ(diagnostic_of([&] { import_pir(deep); }), errors::json_too_deep("m.json: byte 294", "brackets", 256));
  std::string regions =
      R"({"#":"1.if","A":[],"I":[],"O":[],"regions":[{"#":"r","blocks":[{"#":"b","args":[],"ops":[]}]}]})";
  for (int i = 0; i < 35; ++i)
    regions = R"({"#":"1.if","A":[],"I":[],"O":[],"regions":[{"#":"r","blocks":[{"#":"b","args":[],"ops":[)" + regions +
              "]}]}]}";
  const Diagnostic inside = diagnostic_of([&] { import_pir(test::pir(regions)); });
  EXPECT_EQ(inside, errors::json_too_deep(inside.where, "regions", 32));
}

// ---- whole networks

/// Describes operands independently of their names.
class Names {
 public:
  std::string of(Value value, const Model& model) {
    if (!value) return "-";
    const auto known = names_.emplace(value.node(), fmt::format("%{}", names_.size()));
    if (!known.second || !value.is_tensor()) return known.first->second + ": " + to_string(value.type());
    const Tensor& tensor = model.tensors.at(value.name());
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.raw()), tensor.bytes());
    return fmt::format("{}: {} = {:x}", known.first->second, to_string(value.type()),
                       std::hash<std::string_view>()(bytes));
  }

 private:
  std::map<const void*, std::string> names_;
};

/// The network without names, after the passes that do not change its results.
std::string plain_text(Model model) {
  CompileOptions options;
  options.freeze_tensors = false;
  options.disabled_passes = {"fuse_activations"};
  compiler::optimize(model, options, false);
  Names names;
  std::string text;
  for (const Value argument : model.graph.arguments()) text += argument.name() + " " + names.of(argument, model) + "\n";
  for (const Op op : model.graph.ops()) {
    text += op.info().name + "(";
    for (const Value operand : op.operands()) text += names.of(operand, model) + ", ";
    text += ") {";
    for (const auto& [name, value] : op.attributes()) text += name + ": " + to_string(value) + ", ";
    text += "} ->";
    for (const Value result : op.results()) text += " " + names.of(result, model);
    text += "\n";
  }
  for (const Value output : model.graph.outputs()) text += "return " + names.of(output, model) + "\n";
  return text;
}

void expect_same_network(const std::filesystem::path& a, const std::filesystem::path& b) {
  const std::string first = plain_text(formats::open(a)->import(bound()));
  EXPECT_EQ(first, plain_text(formats::open(b)->import(bound())));
  EXPECT_GT(first.size(), 500u);
}

TEST(PaddlePair, the_committed_one_is_the_same_network) {
  expect_same_network(committed("qat.json"), committed("qat.pdmodel"));
}

class PaddlePairs : public testing::TestWithParam<const char*> {};

TEST_P(PaddlePairs, are_the_same_network) {
  HS_NEEDS_TEST_DATA("models");
  const auto folder = [](const std::string& name) { return halfstep::test::test_data("models/" + name); };
  expect_same_network(folder(std::string(GetParam()) + "_pir"), folder(std::string(GetParam()) + "_legacy"));
}

INSTANTIATE_TEST_SUITE_P(All, PaddlePairs,
                         testing::Values("lenet", "mobilenet_v2_x05", "paddle_resnet20", "resnet20_qat",
                                         "small_ptq_converted", "small_qat_converted", "small_qat"),
                         [](const auto& one) { return std::string(one.param); });

/// Largest difference from Paddle's outputs, relative to the largest value of each. Unless the importer `sees_inputs`,
/// only the run has them.
double difference(const std::string& program, const std::string& tensors, bool sees_inputs = true) {
  const auto stored = io::read_safetensors(committed(tensors)).tensors;
  double worst = 0;
  for (const std::string batch : {"b1", "b3"}) {
    std::map<std::string, Tensor> inputs;
    for (const auto& [name, tensor] : stored) {
      if (name.starts_with(batch + ".in.")) inputs[name.substr(batch.size() + 4)] = tensor;
    }
    ThreadPool pool(1);
    Model model = formats::open(committed(program))->import(sees_inputs ? bound(inputs) : bound());
    std::map<std::string, Dims> extents;
    for (const auto& [name, tensor] : inputs) extents.emplace(name, tensor.dims());
    const auto found = compile(specialize(model, extents), {}).run(inputs, pool);
    for (const auto& [name, tensor] : found) {
      const Tensor& expected = stored.at(batch + ".out." + name);
      double largest = 0, far = 0;
      for (int64_t i = 0; i < tensor.size(); ++i) {
        largest = std::max(largest, std::fabs(element(expected, i)));
        far = std::max(far, std::fabs(element(tensor, i) - element(expected, i)));
      }
      EXPECT_EQ(tensor.type(), expected.type());
      worst = std::max(worst, std::isfinite(far) ? far / largest : INFINITY);
    }
  }
  return worst;
}

TEST(PaddleNetwork, gives_the_outputs_of_paddle) {
  for (const std::string extension : {".json", ".pdmodel"}) {
    EXPECT_LT(difference("qat" + extension, "qat.safetensors"), 1e-6);
    EXPECT_LT(difference("control" + extension, "control.safetensors"), 1e-6);
  }
}

TEST(PaddleNetwork, what_depends_on_values_becomes_regions) {
  for (const std::string extension : {".json", ".pdmodel"}) {
    EXPECT_TRUE(formats::open(committed("control" + extension))->coverage(bound()).issues.empty()) << extension;
    EXPECT_LT(difference("control" + extension, "control.safetensors", false), 1e-6) << extension;
  }
}

TEST(PaddleFile, is_found_by_folder_and_prefix) {
  const halfstep::test::TemporaryFolder folder;
  for (const char* extension : {".json", ".pdiparams"})
    std::filesystem::copy(committed("qat") += extension, folder / (std::string("qat") + extension));
  for (const auto& path : {folder.path(), folder / "qat", folder / "qat.json"}) {
    EXPECT_TRUE(is_foreign(path)) << path;
    EXPECT_EQ(formats::open(path)->summary().format, "pir") << path;
  }
  std::filesystem::copy(committed("qat.pdmodel"), folder / "qat.pdmodel");
  EXPECT_EQ(formats::open(folder / "qat.pdmodel")->summary().format, "paddle");
  EXPECT_EQ(diagnostic_of([&] { formats::open(folder.path()); }),
            errors::several_programs(folder.path().string(), 2, "qat.json", "qat.pdmodel"));
  EXPECT_NE(diagnostic_of([&] { formats::open(folder / "other"); }).entry, nullptr);
}

}  // namespace
}  // namespace halfstep::formats::paddle
