// From ONNX graphs to ours: entries of records, known values, and refusals.
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "halfstep/core/ir/metadata/given_names.h"
#include "halfstep/core/ir/verify_graph.h"
#include "halfstep/formats/builder/errors.h"
#include "halfstep/formats/onnx/errors.h"
#include "halfstep/formats/onnx/node.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"
#include "tests/support/scalars.h"

namespace halfstep::formats::onnx {
namespace {

using halfstep::test::diagnostic_of;
using halfstep::test::kind_of;
using test::attribute;
using test::bound;
using test::import_text;
using test::ModelText;
using test::operators;

Diagnostic refusal(const ModelText& text, const Binding& binding = bound()) {
  return diagnostic_of([&] { import_text(text, binding); });
}

/// x -> op -> y.
ModelText one_node(const std::string& op, std::vector<proto::NodeAttribute> attributes = {}, int64_t opset = 18) {
  ModelText text(opset);
  text.input("x", {2, 3, 4, 4});
  text.add(op, {"x"}, {"y"}, std::move(attributes)).set_name("it");
  text.output("y");
  return text;
}

/// A module that is called twice has its name once. The outputs of the network keep the names of the file.
TEST(Import, layers_have_the_names_of_their_modules) {
  ModelText text;
  text.input("x", {2, 3});
  for (const auto& [from, to] : {std::pair("x", "getitem"), std::pair("getitem", "val_7")}) {
    proto::Entry& entry = *text.add("Relu", {from}, {to}).add_metadata_props();
    entry.set_key("namespace");
    entry.set_value(": nets.Net/stem.2: torch.nn.modules.activation.ReLU/relu_1: aten.relu.default");
  }
  text.output("val_7");
  const Model model = import_text(text);
  EXPECT_TRUE(model.graph.op("stem.2") && model.graph.op("stem.2.relu"));
  EXPECT_EQ(model.graph.body().output_names(), std::vector<std::string>{"val_7"});
  EXPECT_EQ(model.metadata.given_names,
            (std::map<std::string, std::string>{{"stem.2", "getitem"}, {"stem.2.relu", "val_7"}}));
}

/// Our second result is called a.indices, whatever name the file uses.
TEST(Import, a_name_that_a_second_result_would_have_is_no_obstacle) {
  ModelText text;
  text.input("x", {2, 3});
  text.add_tensor(test::integers("k", {1}, {2}));
  text.add("Relu", {"x"}, {"a.indices"});
  text.add("TopK", {"a.indices", "k"}, {"a", "b"});
  text.output("a");
  text.output("a.indices");
  const Model model = import_text(text);
  EXPECT_EQ(model.graph.body().output_names(), (std::vector<std::string>{"a", "a.indices"}));
  EXPECT_EQ(model.graph.outputs()[1].name(), "a.indices");
  EXPECT_EQ(model.graph.outputs()[0].producer().info().name, "top_k");
}

TEST(Import, names_are_those_of_the_file) {
  ModelText text;
  text.input("in put", {2, 3});
  text.add("Relu", {"in put"}, {"/a/b.c"}).set_name("first");
  text.add("Sigmoid", {"/a/b.c"}, {"out::y"});
  text.output("out::y");
  const Model model = import_text(text);
  EXPECT_EQ(operators(model), "relu sigmoid");
  EXPECT_EQ(model.graph.arguments()[0].name(), "in put");
  EXPECT_TRUE(model.graph.value("/a/b.c"));
  EXPECT_EQ(model.graph.body().output_names(), std::vector<std::string>{"out::y"});
  EXPECT_EQ(model.graph.ops()[1].location().line, 2);
}

TEST(Import, attributes_and_their_defaults) {
  proto::NodeAttribute alpha;
  alpha.set_name("alpha");
  alpha.set_type(1);
  alpha.set_f(0.25F);
  const Model given = import_text(one_node("LeakyRelu", {alpha}));
  EXPECT_EQ(get<double>(given.graph.ops()[0].attributes(), "alpha"), 0.25);
  const Model left_out = import_text(one_node("LeakyRelu"));
  EXPECT_EQ(get<double>(left_out.graph.ops()[0].attributes(), "alpha"), 0.01);
}

/// A factor of an absent input has no effect.
TEST(Import, a_gemm_without_c_may_have_a_beta) {
  ModelText text;
  text.input("x", {2, 3});
  text.add_tensor(test::floats("w", {3, 4}, std::vector<float>(12, 1)));
  proto::NodeAttribute beta;
  beta.set_name("beta");
  beta.set_type(1);
  beta.set_f(1);
  text.add("Gemm", {"x", "w"}, {"y"}, {beta});
  text.output("y");
  EXPECT_EQ(operators(import_text(text)), "linear");
}

/// Calls of our operators inside a module of another framework are in a domain of their own, under the records' names.
TEST(Import, our_own_operators_stand_as_they_are) {
  ModelText text = one_node(
      "avg_pool2d", {attribute("kernel", std::vector<int64_t>{2, 2}), attribute("stride", std::vector<int64_t>{2, 2})});
  text.import_domain("halfstep", 1);
  text.graph().mutable_node(0)->set_domain("halfstep");
  const Model model = import_text(text);
  EXPECT_EQ(operators(model), "avg_pool2d");
  EXPECT_EQ(get<std::vector<int64_t>>(model.graph.ops()[0].attributes(), "kernel"), (std::vector<int64_t>{2, 2}));
}

/// Operations keep the source locations of the user's program, and messages name them.
TEST(Import, locations_are_lines_of_the_users_program) {
  const auto traced = [](const std::string& op) {
    ModelText text = one_node(op);
    proto::Entry& entry = *text.graph().mutable_node(0)->add_metadata_props();
    entry.set_key("pkg.torch.onnx.stack_trace");
    entry.set_value("File \"/project/net.py\", line 12, in forward\n    return f(x)");
    return text;
  };
  EXPECT_EQ(import_text(traced("Relu")).graph.op("y").where(), "net.py:12: node 'y'");
  EXPECT_EQ(import_text(one_node("Relu")).graph.op("y").where(), "m.onnx:1: node 'y'");
  EXPECT_EQ(refusal(traced("Strange")).where, "m.onnx: net.py:12: node 'it': Strange");
}

/// The operator's record decides which inputs are state. This also holds for a single channel, although tensors of one
/// element are constants elsewhere. Each operator gets a tensor of its own where the file shares one.
TEST(Import, running_statistics_are_state) {
  for (const int64_t channels : {1, 2}) {
    ModelText text;
    text.input("x", {2, channels, 4, 4});
    for (const char* name : {"zero", "one"})
      text.add_tensor(
          test::floats(name, {channels}, std::vector<float>(static_cast<size_t>(channels), name[0] == 'o')));
    text.add("BatchNormalization", {"x", "one", "zero", "zero", "one"}, {"a"});
    text.add("BatchNormalization", {"a", "one", "zero", "zero", "one"}, {"y"});
    text.output("y");
    const Model model = import_text(text);
    std::set<std::string> states;
    for (const Op norm : model.graph.ops()) {
      for (const char* port : {"mean", "variance"}) {
        const Value tensor = norm.in(norm.info().input(port));
        EXPECT_EQ(tensor.role(), Role::state);
        states.insert(tensor.name());
      }
      for (const char* port : {"scale", "bias"})
        EXPECT_EQ(norm.in(norm.info().input(port)).role(), channels == 1 ? Role::constant : Role::parameter);
    }
    EXPECT_EQ(states.size(), 4U);
  }
}

/// Like torch writes the first block of a DenseNet.
TEST(Import, a_list_of_one_value_is_that_value) {
  ModelText text;
  text.input("x", {2, 3});
  text.add("Concat", {"x"}, {"joined"}, {attribute("axis", 1)});
  text.add("Relu", {"joined"}, {"y"});
  text.output("y");
  EXPECT_EQ(operators(import_text(text)), "relu");
}

TEST(Import, says_what_is_not_supported) {
  EXPECT_EQ(refusal(one_node("Nonsense")), errors::operator_not_supported("m.onnx: node 'it': Nonsense", ""));
  EXPECT_EQ(refusal(one_node("Relu", {attribute("speed", 3)})),
            errors::attribute_not_supported("m.onnx: node 'it': Relu", "speed = 3"));
  EXPECT_EQ(kind_of([] { import_text(one_node("Nonsense")); }), ErrorKind::unsupported);
  ModelText domain = one_node("Relu");
  domain.graph().mutable_node(0)->set_domain("my.domain");
  EXPECT_EQ(refusal(domain).entry, &errors::domain_not_supported_entry);
  EXPECT_EQ(refusal(one_node("Relu", {}, 6)), errors::opset_not_supported("m.onnx: node 'it': Relu", 6, 7, 28));
  ModelText type(18);
  type.input("x", {2}, 8);
  EXPECT_EQ(refusal(type), errors::element_type_not_supported("m.onnx: input 'x'", "string"));
}

TEST(Import, refuses_damaged_graphs) {
  ModelText cycle;
  cycle.input("x", {2});
  cycle.add("Add", {"x", "b"}, {"a"}).set_name("one");
  cycle.add("Relu", {"a"}, {"b"});
  cycle.output("b");
  EXPECT_EQ(refusal(cycle), errors::value_read_before_made("m.onnx: node 'one': Add", "b"));
  EXPECT_EQ(kind_of([&] { import_text(cycle); }), ErrorKind::bad_input);

  ModelText twice;
  twice.input("x", {2});
  twice.add("Relu", {"x"}, {"y"});
  twice.add("Relu", {"x"}, {"y"}).set_name("again");
  EXPECT_EQ(refusal(twice), errors::name_defined_twice("m.onnx: node 'again': Relu", "y"));

  ModelText tensors;
  tensors.add_tensor(test::floats("w", {1}, {1}));
  tensors.add_tensor(test::floats("w", {1}, {2}));
  EXPECT_EQ(refusal(tensors), errors::name_defined_twice("m.onnx", "w"));

  ModelText types;
  types.input("x", {2});
  types.input("i", {2}, 7);
  types.add("Add", {"x", "i"}, {"y"}).set_name("sum");
  EXPECT_EQ(refusal(types).entry, &errors::operator_refuses_node_entry);
  EXPECT_EQ(refusal(types).where, "m.onnx: node 'sum': Add");

  ModelText wide;
  wide.add("Sum", std::vector<std::string>(70'000), {"y"}).set_name("sum");
  EXPECT_EQ(refusal(wide), errors::too_many_operands("m.onnx: node 'sum': Sum", 70'000, 1, 65'536));

  ModelText large;
  large.input("x", {2});
  proto::TensorData tensor = test::floats("w", {}, {});
  tensor.add_dims(int64_t{1} << 40);
  large.add_tensor(tensor);
  large.add("Add", {"x", "w"}, {"y"});
  EXPECT_EQ(refusal(large),
            errors::tensor_size("m.onnx: tensor 'w'", 0, "bytes", 4'398'046'511'104, "f32[1099511627776]"));
}

TEST(Import, arithmetic_of_dynamic_dims_disappears) {
  ModelText text;
  text.input("x", {-1, 4, 6});
  text.add_tensor(test::integers("zero", {}, {0}));
  text.add_tensor(test::integers("axis", {1}, {0}));
  text.add_tensor(test::integers("rest", {2}, {8, 3}));
  text.add("Shape", {"x"}, {"shape"});
  text.add("Gather", {"shape", "zero"}, {"batch"}, {attribute("axis", 0)});
  text.add("Unsqueeze", {"batch", "axis"}, {"list"});
  text.add("Concat", {"list", "rest"}, {"dims"}, {attribute("axis", 0)});
  text.add("Reshape", {"x", "dims"}, {"y"});
  text.output("y");
  const Model model = import_text(text);
  EXPECT_EQ(operators(model), "reshape");
  EXPECT_EQ(get<std::vector<int64_t>>(model.graph.ops()[0].attributes(), "dims"), (std::vector<int64_t>{-1, 8, 3}));
}

TEST(Import, slices_of_extents_as_onnx_counts) {
  struct Case {
    int64_t start, end, step;
    std::vector<int64_t> expected;
  };
  for (const Case& one : std::vector<Case>{{0, 2, 1, {5, 6}},
                                           {-2, INT64_MAX, 1, {7, 8}},
                                           {INT64_MAX, INT64_MIN, -1, {8, 7, 6, 5}},
                                           {3, 0, -2, {8, 6}},
                                           {-9, INT64_MIN, -1, {5}},
                                           {INT64_MIN, -9, INT64_MIN, {5}},
                                           {-9, 0, -1, {}},
                                           {2, 1, 1, {}}}) {
    ModelText text;
    text.input("x", {5, 6, 7, 8});
    text.add_tensor(test::integers("start", {1}, {one.start}));
    text.add_tensor(test::integers("end", {1}, {one.end}));
    text.add_tensor(test::integers("axes", {1}, {0}));
    text.add_tensor(test::integers("step", {1}, {one.step}));
    text.add("Shape", {"x"}, {"shape"});
    text.add("Slice", {"shape", "start", "end", "axes", "step"}, {"y"});
    text.output("y");
    const Model model = import_text(text);
    const Tensor& y = model.tensors.at("y");
    EXPECT_EQ(std::vector<int64_t>(y.data<int64_t>().begin(), y.data<int64_t>().end()), one.expected);
  }
}

TEST(Import, parts_of_a_split_are_not_below_zero) {
  const auto split = [](const std::vector<int64_t>& parts) {
    ModelText text;
    text.input("x", {2, 4});
    text.add_tensor(test::integers("parts", {2}, parts));
    text.add("Split", {"x", "parts"}, {"y", "z"}, {attribute("axis", 1)}).set_name("it");
    text.output("y");
    return text;
  };
  EXPECT_EQ(refusal(split({4, 0})), Diagnostic());
  EXPECT_EQ(refusal(split({-2, 6})), errors::parts_do_not_fit("m.onnx: node 'it': Split", "[-2, 6]", 4, 2));
  EXPECT_EQ(refusal(split({INT64_MAX, 5 - INT64_MAX})).entry, &errors::parts_do_not_fit_entry);
  ModelText many;
  many.input("x", {2, 4});
  many.add("Split", {"x"}, {"y"}, {attribute("num_outputs", int64_t{1} << 40)}).set_name("it");
  many.output("y");
  EXPECT_EQ(refusal(many),
            errors::wrong_count("m.onnx: node 'it': Split", "parts", int64_t{1} << 40, "one for each of 1 outputs"));
}

TEST(Import, values_that_shape_a_result_are_asked_for) {
  ModelText text;
  text.input("x", {2, 6});
  text.input("dims", {2}, 7);
  text.add("Reshape", {"x", "dims"}, {"y"}).set_name("it");
  text.output("y");
  EXPECT_EQ(refusal(text), placed(errors::depends_on_values("it", "dims"), "", "m.onnx: node 'it': Reshape"));
  const std::vector<int64_t> dims = {3, 4};
  const Model model = import_text(
      text, bound({{"dims", Tensor::of<int64_t>(DType::i64, {2}, dims)}, {"x", Tensor(DType::f32, {2, 6})}}));
  EXPECT_EQ(model.graph.outputs()[0].dims(), (Dims{3, 4}));
}

proto::Graph branch(const std::string& op) {
  proto::Graph graph;
  test::Nodes(graph.mutable_node()).add(op, {"x"}, {op + "_y"});
  graph.add_output()->set_name(op + "_y");
  return graph;
}

TEST(Import, functions_are_inlined_with_their_attributes) {
  ModelText text;
  text.input("x", {2});
  text.import_domain("mine", 1);
  proto::Function& function = *text.model.add_functions();
  function.set_name("Twice");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  function.add_attribute("slope");
  auto& opset = *function.add_opset_import();
  opset.set_version(18);
  test::Nodes nodes(function.mutable_node());
  proto::NodeAttribute reference;
  reference.set_name("alpha");
  reference.set_type(1);
  reference.set_ref_attr_name("slope");
  nodes.add("LeakyRelu", {"a"}, {"m"}, {reference});
  nodes.add("Relu", {"m"}, {"b"});
  proto::NodeAttribute slope;
  slope.set_name("slope");
  slope.set_type(1);
  slope.set_f(0.5F);
  text.add("Twice", {"x"}, {"y"}, {slope}).set_domain("mine");
  text.add("Twice", {"y"}, {"z"}).set_domain("mine");
  text.output("z");
  const Model model = import_text(text);
  EXPECT_EQ(operators(model), "leaky_relu relu leaky_relu relu");
  EXPECT_EQ(get<double>(model.graph.ops()[0].attributes(), "alpha"), 0.5);
  EXPECT_EQ(get<double>(model.graph.ops()[2].attributes(), "alpha"), 0.01);
}

TEST(Import, a_function_that_calls_itself_is_refused) {
  ModelText text;
  text.input("x", {2});
  text.import_domain("mine", 1);
  proto::Function& function = *text.model.add_functions();
  function.set_name("Self");
  function.set_domain("mine");
  function.add_input("a");
  function.add_output("b");
  auto& opset = *function.add_opset_import();
  opset.set_domain("mine");
  opset.set_version(1);
  test::Nodes(function.mutable_node()).add("Self", {"a"}, {"b"}).set_domain("mine");
  text.add("Self", {"x"}, {"y"}).set_domain("mine");
  EXPECT_EQ(refusal(text), errors::nested_too_deep("m.onnx: node 'b': Self", "graphs and functions", 128));
}

ModelText pooled(const std::string& op, std::vector<proto::NodeAttribute> attributes) {
  attributes.push_back(attribute("kernel_shape", std::vector<int64_t>{3, 3}));
  ModelText text;
  text.input("x", {1, 2, 8, 7});
  text.add(op, {"x"}, {"y"}, std::move(attributes));
  text.output("y");
  return text;
}

TEST(Import, windows_are_written_out) {
  const auto pad = [](const Model& model) {
    return get<std::vector<int64_t>>(model.graph.ops()[0].attributes(), "pad");
  };
  const auto strides = attribute("strides", std::vector<int64_t>{2, 2});
  using Pads = std::vector<int64_t>;
  EXPECT_EQ(pad(import_text(pooled("MaxPool", {}))), (Pads{0, 0, 0, 0}));
  EXPECT_EQ(pad(import_text(pooled("MaxPool", {strides, attribute("auto_pad", "SAME_UPPER")}))), (Pads{0, 1, 1, 1}));
  EXPECT_EQ(pad(import_text(pooled("MaxPool", {strides, attribute("auto_pad", "SAME_LOWER")}))), (Pads{1, 1, 0, 1}));
  EXPECT_EQ(pad(import_text(pooled("MaxPool", {strides, attribute("ceil_mode", 1)}))), (Pads{0, 0, 1, 0}));
  EXPECT_EQ(pad(import_text(pooled("AveragePool", {strides, attribute("ceil_mode", 1)}))), (Pads{0, 0, 1, 0}));
  const auto far = attribute("strides", std::vector<int64_t>{2, 5});
  EXPECT_EQ(refusal(pooled("MaxPool", {far, attribute("auto_pad", "SAME_UPPER")})),
            errors::auto_pad_ambiguous("m.onnx: node 'y': MaxPool", "SAME_UPPER", 5, 3));
}

/// A node without any input, for every operator with a hand-written translation.
TEST(Import, inputs_that_are_missing_are_no_defects_of_ours) {
  const auto import_without_inputs = [](const std::string& op) {
    ModelText text;
    text.add(op, {}, {"y"}).set_name("it");
    text.output("y");
    import_text(text, bound());
  };
  EXPECT_EQ(diagnostic_of([&] { import_without_inputs("ConstantOfShape"); }),
            placed(errors::part_missing("", "an input"), "", "m.onnx: node 'it': ConstantOfShape"));
  for (const auto& entry : std::filesystem::directory_iterator(HALFSTEP_SOURCE_DIR "/halfstep/formats/onnx/ops")) {
    const std::string op = entry.path().stem();
    EXPECT_NE(diagnostic_of([&] { import_without_inputs(op); }).entry, &errors::defect_entry) << op;
  }
}

TEST(Coverage, lists_every_reason_once_with_its_nodes) {
  ModelText text;
  text.input("x", {2, 3});
  text.add("Nonsense", {"x"}, {"a"}).set_name("n1");
  text.add("Nonsense", {"x"}, {"b"}).set_name("n2");
  text.add("Relu", {"a"}, {"c"});
  text.add("Absurd", {"c"}, {"d"}).set_name("n3");
  text.output("d");
  const std::string bytes = text.text();
  const Coverage found = parse(test::bytes_of(bytes), "m.onnx")->coverage(bound());
  ASSERT_EQ(found.issues.size(), 2u);
  EXPECT_EQ(found.issues[0].op, "Nonsense");
  EXPECT_EQ(found.issues[0].nodes, (std::vector<std::string>{"n1", "n2"}));
  EXPECT_EQ(found.issues[1].op, "Absurd");
  EXPECT_EQ(found.unchecked, 2);
  EXPECT_FALSE(found.complete());
}

std::string nearest(const std::string& op, const std::string& domain = "") {
  ModelText text;
  text.input("x", {2, 3}, 7);
  text.add(op, {"x"}, {"y"}).set_domain(domain);
  const std::string bytes = text.text();
  const Coverage found = parse(test::bytes_of(bytes), "m.onnx")->coverage(bound());
  return found.issues.empty() ? "supported" : found.issues.at(0).nearest;
}

TEST(Coverage, says_what_is_supported_instead) {
  EXPECT_EQ(nearest("Selu"), "Selu (selu): X float; alpha, gamma");
  EXPECT_EQ(nearest("Sellu"), nearest("Selu"));
  EXPECT_EQ(nearest("FusedMatMul", "com.microsoft").substr(0, 8), "MatMul (");
  EXPECT_EQ(
      nearest("FusedCompress"),
      "Compress: Selects the slices for which a known condition holds, or elements of all axes together without an "
      "axis.");
  EXPECT_EQ(nearest("ReduceSum").substr(0, 33), "supported");
  EXPECT_EQ(nearest("Wxyz"), "");
}

TEST(Import, refuses_what_is_not_there_before_anything_is_computed) {
  ModelText text;
  text.input("x", {2});
  text.input("c", {}, 9);
  text.add("If", {"c"}, {"a"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Relu"))});
  text.add("Absurd", {"a"}, {"y"}).set_name("last");
  text.output("y");
  Binding binding = bound();
  binding.values = {{"c", halfstep::test::truth(true)}};
  binding.evaluate = [](const OpInfo&, const Attributes&, const std::vector<Tensor>&) -> std::vector<Tensor> {
    throw std::logic_error("something was computed");
  };
  EXPECT_EQ(refusal(text, binding), errors::operator_not_supported("m.onnx: node 'last': Absurd", ""));
}

TEST(Coverage, looks_into_both_branches) {
  ModelText text;
  text.input("x", {2});
  text.input("c", {}, 9);
  text.add("If", {"c"}, {"y"}, {attribute("then_branch", branch("Relu")), attribute("else_branch", branch("Absurd"))});
  text.output("y");
  const std::string bytes = text.text();
  const Coverage found = parse(test::bytes_of(bytes), "m.onnx")->coverage(bound());
  ASSERT_EQ(found.issues.size(), 1u);
  EXPECT_EQ(found.issues[0].op, "Absurd");
}

}  // namespace
}  // namespace halfstep::formats::onnx
