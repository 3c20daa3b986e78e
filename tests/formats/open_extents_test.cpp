// Networks whose batch and length are open, at several of both: what a file shapes by arithmetic on extents is the same
// as where the extents are known when it is imported.
#include "halfstep/formats/open_extents.h"

#include <gtest/gtest.h>

#include "halfstep/base/random.h"
#include "halfstep/compile/compile.h"
#include "tests/formats/evaluate.h"
#include "tests/support/error.h"

namespace halfstep::formats::onnx {
namespace {

using test::attribute;
using test::import_text;
using test::integers;
using test::ModelText;

Tensor random(const Dims& dims, uint64_t seed) {
  Tensor tensor(DType::f32, dims);
  Random numbers(seed, 1);
  for (float& element : tensor.data<float>()) element = static_cast<float>(numbers.uniform()) - 0.5F;
  return tensor;
}

/// x [n, l, 6] with its extents as numbers and as lists of one: n, l, n1, l1.
ModelText sequences() {
  ModelText text;
  text.input("x", {-1, -1, 6});
  auto& dims = *text.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->mutable_shape();
  dims.mutable_dim(1)->set_dim_param("l");
  for (const auto& [name, values] : std::map<std::string, std::vector<int64_t>>{
           {"zero1", {0}}, {"one1", {1}}, {"two1", {2}}, {"six1", {6}}, {"left", {-1}}})
    text.add_tensor(integers(name, {1}, values));
  text.add_tensor(integers("zero", {}, {0}));
  text.add_tensor(integers("one", {}, {1}));
  text.add("Shape", {"x"}, {"shape"});
  text.add("Gather", {"shape", "zero"}, {"n"});
  text.add("Gather", {"shape", "one"}, {"l"});
  text.add("Unsqueeze", {"n", "zero1"}, {"n1"});
  text.add("Unsqueeze", {"l", "zero1"}, {"l1"});
  return text;
}

/// The open network at these extents and the one that is imported with them.
void expect_same(ModelText& text, int64_t most_length = 40) {
  text.output("y");
  const Model open = import_text(text);
  for (const Dims& dims : {Dims{1, 1, 6}, Dims{2, 3, 6}, Dims{3, 2, 6}, Dims{5, most_length, 6}}) {
    const Tensor x = random(dims, 3);
    ThreadPool pool(1);
    Binding binding = test::bound();
    binding.dims = {{"x", dims}};
    const Tensor expected = compile(import_text(text, binding), {}).run({{"x", x}}, pool).at("y");
    const Tensor found = compile(specialize(open, {{"x", dims}}), {}).run({{"x", x}}, pool).at("y");
    EXPECT_EQ(found.type(), expected.type());
    EXPECT_TRUE(found.same_bits(expected)) << to_string(dims);
  }
}

TEST(OpenExtents, PositionsAreGathered) {
  ModelText text = sequences();
  text.add_tensor(test::floats("table", {50, 6}, std::vector<float>(300, 0.25F)));
  text.graph().mutable_initializer(text.graph().initializer_size() - 1)->mutable_raw_data()->at(30) = 0x3E;
  text.add("Range", {"zero", "l", "one"}, {"range"});
  text.add("Gather", {"table", "range"}, {"places"});
  text.add("Add", {"x", "places"}, {"y"});
  expect_same(text);
}

TEST(OpenExtents, TablesAreCutAtTheLength) {
  ModelText text = sequences();
  text.add_tensor(test::floats("table", {1, 50, 6}, std::vector<float>(300, 0.25F)));
  text.graph().mutable_initializer(text.graph().initializer_size() - 1)->mutable_raw_data()->at(30) = 0x3E;
  text.add("Add", {"l1", "one1"}, {"end"});
  text.add("Slice", {"table", "one1", "end", "one1"}, {"places"});
  text.add("Add", {"x", "places"}, {"y"});
  expect_same(text);
}

TEST(OpenExtents, TheLastPlaceIsCountedFromTheEnd) {
  ModelText text = sequences();
  text.add("Sub", {"l1", "one1"}, {"last"});
  text.add("Slice", {"x", "last", "l1", "one1"}, {"y"});
  expect_same(text);
}

TEST(OpenExtents, RowsOfAllSamplesAreSplitAgain) {
  ModelText text = sequences();
  text.add_tensor(integers("rows", {2}, {-1, 6}));
  text.add("Reshape", {"x", "rows"}, {"flat"});
  text.add("Relu", {"flat"}, {"bent"});
  text.add("Concat", {"n1", "l1", "two1", "left"}, {"heads"}, {attribute("axis", 0)});
  text.add("Reshape", {"bent", "heads"}, {"split"});
  text.add("Transpose", {"split"}, {"turned"}, {attribute("perm", std::vector<int64_t>{0, 2, 1, 3})});
  text.add("Concat", {"n1", "two1", "l1", "left"}, {"same"}, {attribute("axis", 0)});
  text.add("Reshape", {"turned", "same"}, {"y"});
  EXPECT_EQ(test::operators(import_text([&] {
              ModelText copy = text;
              copy.output("y");
              return copy;
            }())),
            "reshape relu reshape_by transpose reshape");
  expect_same(text);
}

TEST(OpenExtents, WhatIsRepeatedIsBroadcast) {
  ModelText text = sequences();
  text.add("ReduceSum", {"x", "two1"}, {"sums"}, {attribute("keepdims", int64_t{0})});
  text.add("Unsqueeze", {"sums", "one1"}, {"row"});
  text.add("Concat", {"one1", "l1", "one1"}, {"square"}, {attribute("axis", 0)});
  text.add("Expand", {"row", "square"}, {"y"});
  expect_same(text);
}

/// As exporters write expand(n, -1, -1): the extents that are -1 in a list become 1.
TEST(OpenExtents, ListsOfExtentsAreSelected) {
  ModelText text = sequences();
  text.add_tensor(integers("many", {1}, {3}));
  text.add_tensor(test::floats("token", {1, 1, 6}, {1, 2, 3, 4, 5, 6}));
  text.add("Concat", {"n1", "left", "left"}, {"wanted"}, {attribute("axis", 0)});
  auto& ones = text.add("ConstantOfShape", {"many"}, {"ones"});
  auto& value = *ones.add_attribute();
  value.set_name("value");
  value.set_type(4);
  *value.mutable_t() = integers("", {1}, {1});
  text.add_tensor(integers("minus", {}, {-1}));
  text.add("Mul", {"ones", "minus"}, {"unsaid"});
  text.add("Equal", {"wanted", "unsaid"}, {"is_unsaid"});
  text.add("Where", {"is_unsaid", "ones", "wanted"}, {"extents"});
  text.add("Expand", {"token", "extents"}, {"tokens"});
  text.add("Concat", {"tokens", "x"}, {"y"}, {attribute("axis", 1)});
  expect_same(text);
}

TEST(OpenExtents, StatesAreMadeOfTheBatch) {
  ModelText text = sequences();
  text.add("Concat", {"n1", "l1", "six1"}, {"wanted"}, {attribute("axis", 0)});
  text.add("ConstantOfShape", {"wanted"}, {"zeros"});
  text.add("Add", {"x", "zeros"}, {"y"});
  expect_same(text);
}

TEST(OpenExtents, WhatIsNotSaidByExtentsIsRefused) {
  const char* const kOpen = "depends on open extents of the inputs";
  ModelText half = sequences();
  half.add_tensor(integers("two", {}, {2}));
  half.add("Div", {"l", "two"}, {"middle"});
  half.add("Range", {"zero", "middle", "one"}, {"y"});
  half.output("y");
  EXPECT_NE(halfstep::test::error_of([&] { import_text(half); }).find(kOpen), std::string::npos);
  ModelText steps = sequences();
  steps.add_tensor(integers("two", {}, {2}));
  steps.add("Range", {"zero", "l", "two"}, {"y"});
  steps.output("y");
  EXPECT_NE(halfstep::test::error_of([&] { import_text(steps); }).find(kOpen), std::string::npos);
}

}  // namespace
}  // namespace halfstep::formats::onnx
