// Networks with dynamic batch and length, at several sizes of both. Shapes that a file computes from extents equal
// those of an import with known extents.
#include "halfstep/formats/builder/dynamic_dims.h"

#include <gtest/gtest.h>

#include <functional>

#include "halfstep/core/base/random.h"
#include "halfstep/engine/compile/compile.h"
#include "halfstep/formats/builder/errors.h"
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

/// Compares the dynamic network at these lengths with the network that is imported with them.
void expect_same_at(ModelText& text, const std::vector<int64_t>& lengths) {
  text.output("y");
  const Model open = import_text(text);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const Dims dims = {static_cast<int64_t>(i + 1), lengths[i], 6};
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

void expect_same(ModelText& text, int64_t most_length = 40) { expect_same_at(text, {1, 3, 2, most_length}); }

TEST(DynamicDims, PositionsAreGathered) {
  ModelText text = sequences();
  text.add_tensor(test::floats("table", {50, 6}, std::vector<float>(300, 0.25F)));
  text.graph().mutable_initializer(text.graph().initializer_size() - 1)->mutable_raw_data()->at(30) = 0x3E;
  text.add("Range", {"zero", "l", "one"}, {"range"});
  text.add("Gather", {"table", "range"}, {"places"});
  text.add("Add", {"x", "places"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, TablesAreCutAtTheLength) {
  ModelText text = sequences();
  text.add_tensor(test::floats("table", {1, 50, 6}, std::vector<float>(300, 0.25F)));
  text.graph().mutable_initializer(text.graph().initializer_size() - 1)->mutable_raw_data()->at(30) = 0x3E;
  text.add("Add", {"l1", "one1"}, {"end"});
  text.add("Slice", {"table", "one1", "end", "one1"}, {"places"});
  text.add("Add", {"x", "places"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, TheLastPlaceIsCountedFromTheEnd) {
  ModelText text = sequences();
  text.add("Sub", {"l1", "one1"}, {"last"});
  text.add("Slice", {"x", "last", "l1", "one1"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, RowsOfAllSamplesAreSplitAgain) {
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

/// In a tensor without elements the -1 is 0. It does not keep the extent at its position.
TEST(DynamicDims, WhatIsLeftOfNothingIsNothing) {
  ModelText text = sequences();
  text.add_tensor(integers("none", {3}, {0, 0, -1}));
  text.add_tensor(integers("rest", {2}, {1, -1}));
  text.add("Slice", {"x", "zero1", "zero1", "one1"}, {"empty"});
  text.add("Concat", {"n1", "rest"}, {"wanted"}, {attribute("axis", 0)});
  text.add("Reshape", {"empty", "wanted"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, WhatIsRepeatedIsBroadcast) {
  ModelText text = sequences();
  text.add("ReduceSum", {"x", "two1"}, {"sums"}, {attribute("keepdims", int64_t{0})});
  text.add("Unsqueeze", {"sums", "one1"}, {"row"});
  text.add("Concat", {"one1", "l1", "one1"}, {"square"}, {attribute("axis", 0)});
  text.add("Expand", {"row", "square"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, NumbersThatAreRepeatedHaveTheNameOfTheirNode) {
  ModelText text = sequences();
  text.add_tensor(test::floats("row", {1, 1, 6}, {1, 2, 3, 4, 5, 6}));
  text.add_tensor(integers("two", {1}, {2}));
  text.add("Concat", {"n1", "two1", "six1"}, {"wanted"}, {attribute("axis", 0)});
  text.add("Expand", {"row", "wanted"}, {"y"});
  text.output("y");
  const Model model = import_text(text);
  std::string names;
  for (const Value tensor : model.graph.tensors()) names += tensor.name() + " ";
  EXPECT_EQ(names, "y.constant ");
}

/// Like exporters write expand(n, -1, -1): each -1 in a list of extents becomes 1.
TEST(DynamicDims, ListsOfExtentsAreSelected) {
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

TEST(DynamicDims, StatesAreMadeOfTheBatch) {
  ModelText text = sequences();
  text.add("Concat", {"n1", "l1", "six1"}, {"wanted"}, {attribute("axis", 0)});
  text.add("ConstantOfShape", {"wanted"}, {"zeros"});
  text.add("Add", {"x", "zeros"}, {"y"});
  expect_same(text);
}

/// Constants for the forms below: a list of 2 and a number 1.5.
void add_factors(ModelText& text) {
  text.add_tensor(test::floats("factor", {1}, {1.5F}));
  text.add_tensor(integers("three1", {1}, {3}));
}

TEST(DynamicDims, QuotientsThatLeaveARestAreExtents) {
  ModelText text = sequences();
  text.add_tensor(integers("two", {}, {2}));
  text.add("Div", {"l", "two"}, {"middle"});
  text.add("Range", {"zero", "middle", "one"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, RangesInStepsEndBeforeTheLength) {
  ModelText text = sequences();
  text.add_tensor(integers("three", {}, {3}));
  text.add("Range", {"one", "l", "three"}, {"y"});
  expect_same(text);
}

TEST(DynamicDims, RangesDownwards) {
  ModelText text = sequences();
  text.add_tensor(integers("minus", {}, {-1}));
  text.add("Sub", {"l", "one"}, {"last"});
  text.add("Range", {"last", "minus", "minus"}, {"places"});
  text.add("Gather", {"x", "places"}, {"y"}, {attribute("axis", 1)});
  expect_same(text);
}

/// Ranges in float, from a start, in steps that are not integers.
TEST(DynamicDims, RangesOfFloats) {
  for (const float step : {1.0F, 0.25F, 3.0F, 0.1F}) {
    for (const float start : {0.0F, 0.5F}) {
      ModelText text = sequences();
      text.add_tensor(test::floats("step", {}, {step}));
      text.add_tensor(test::floats("start", {}, {start}));
      text.add("Cast", {"l"}, {"limit"}, {attribute("to", int64_t{1})});
      text.add("Range", {"start", "limit", "step"}, {"y"});
      SCOPED_TRACE(testing::Message() << start << " in steps of " << step);
      expect_same(text, 12);
    }
  }
}

TEST(DynamicDims, ListsOfExtentsAreOutputs) {
  ModelText text = sequences();
  text.add("Concat", {"l1", "two1", "n1"}, {"y"}, {attribute("axis", 0)});
  expect_same(text);
}

/// Half of an extent, and half of that: a quotient of an intermediate extent, not of the extent itself.
TEST(DynamicDims, QuotientsOfQuotients) {
  ModelText text = sequences();
  add_factors(text);
  text.add("Slice", {"x", "zero1", "l1", "one1", "two1"}, {"half"});
  text.add("Shape", {"half"}, {"half_shape"});
  text.add("Gather", {"half_shape", "one1"}, {"h1"});
  text.add("Mul", {"h1", "three1"}, {"more"});
  text.add("Div", {"more", "two1"}, {"length"});
  text.add("Concat", {"n1", "length"}, {"extents"}, {attribute("axis", 0)});
  text.add("ConstantOfShape", {"extents"}, {"y"});
  for (const int64_t length : {9, 10, 11, 12, 14, 15}) {
    ModelText copy = text;
    expect_same(copy, length);
  }
}

TEST(DynamicDims, PartsInStepsAndFromOpenPlaces) {
  ModelText text = sequences();
  add_factors(text);
  text.add("Div", {"l1", "two1"}, {"half"});
  text.add("Slice", {"x", "half", "l1", "one1"}, {"behind"});
  text.add("Slice", {"x", "zero1", "half", "one1", "three1"}, {"steps"});
  text.add("Concat", {"behind", "steps"}, {"y"}, {attribute("axis", 1)});
  expect_same(text);
}

TEST(DynamicDims, DynamicDimsAreSplit) {
  ModelText text = sequences();
  text.add("Split", {"x"}, {"first", "second"}, {attribute("axis", 1)});
  text.add("Concat", {"second", "first"}, {"y"}, {attribute("axis", 1)});
  expect_same(text);
}

TEST(DynamicDims, RowsAreTiled) {
  ModelText text = sequences();
  text.add_tensor(test::floats("row", {1, 2, 3}, {1, 2, 3, 4, 5, 6}));
  text.add("Concat", {"one1", "l1", "two1"}, {"times"}, {attribute("axis", 0)});
  text.add("Tile", {"row", "times"}, {"y"});
  expect_same(text);
}

/// Arithmetic in float, as exporters write scale factors.
TEST(DynamicDims, ExtentsThroughFloats) {
  ModelText text = sequences();
  add_factors(text);
  text.add("Cast", {"l1"}, {"real"}, {attribute("to", int64_t{1})});
  text.add("Mul", {"real", "factor"}, {"scaled"});
  text.add("Floor", {"scaled"}, {"whole"});
  text.add("Cast", {"whole"}, {"length"}, {attribute("to", int64_t{7})});
  text.add("Concat", {"n1", "length"}, {"extents"}, {attribute("axis", 0)});
  text.add("ConstantOfShape", {"extents"}, {"y"});
  expect_same(text);
}

/// Resizes x, as an image [n, 1, l, 6], to `sizes`.
ModelText resized(const std::string& mode, const std::string& coordinates,
                  const std::function<void(ModelText&)>& add_length) {
  ModelText text = sequences();
  add_factors(text);
  text.add("Unsqueeze", {"x", "one1"}, {"image"});
  add_length(text);
  text.add("Concat", {"n1", "one1", "length", "six1"}, {"sizes"}, {attribute("axis", 0)});
  text.add("Resize", {"image", "", "", "sizes"}, {"y"},
           {attribute("mode", mode), attribute("coordinate_transformation_mode", coordinates),
            attribute("nearest_mode", std::string("floor"))});
  return text;
}

void add_odd(ModelText& text) {
  text.add("Mul", {"l1", "three1"}, {"more"});
  text.add("Div", {"more", "two1"}, {"odd"});
  text.add("Add", {"odd", "one1"}, {"length"});
}

TEST(DynamicDims, SizesOfResize) {
  ModelText keeps = resized("linear", "half_pixel", [](ModelText& text) { text.add("Identity", {"l1"}, {"length"}); });
  expect_same(keeps);
  EXPECT_EQ(test::operators(import_text(keeps)), "unsqueeze");
  ModelText twice = resized("linear", "half_pixel", [](ModelText& t) { t.add("Mul", {"l1", "two1"}, {"length"}); });
  expect_same(twice);
  EXPECT_EQ(test::operators(import_text(twice)), "unsqueeze resize");
  ModelText known = resized("nearest", "asymmetric", [](ModelText& t) { t.add("Identity", {"three1"}, {"length"}); });
  expect_same(known);
  EXPECT_EQ(test::operators(import_text(known)), "unsqueeze resize");
}

TEST(DynamicDims, AnySizesOfResize) {
  for (const char* mode : {"nearest", "linear"}) {
    for (const char* coordinates : {"asymmetric", "half_pixel", "pytorch_half_pixel", "align_corners"}) {
      ModelText text = resized(mode, coordinates, add_odd);
      SCOPED_TRACE(std::string(mode) + " " + coordinates);
      expect_same(text);
    }
  }
  ModelText cubic = resized("cubic", "half_pixel", add_odd);
  cubic.output("y");
  const Diagnostic refusal = halfstep::test::diagnostic_of([&] { import_text(cubic); });
  EXPECT_EQ(refusal, placed(errors::depends_on_extents("a resize of mode cubic"), "", refusal.where));
}

/// The small lengths of the trials have no windows.
TEST(DynamicDims, SizesOfAnEarlierMap) {
  ModelText text = sequences();
  text.add("Unsqueeze", {"x", "one1"}, {"image"});
  const auto pool = [&](const std::string& from, const std::string& to) {
    text.add("MaxPool", {from}, {to},
             {attribute("kernel_shape", std::vector<int64_t>{4, 1}), attribute("strides", std::vector<int64_t>{2, 1})});
  };
  pool("image", "large");
  pool("large", "small");
  text.add("Shape", {"large"}, {"sizes"});
  text.add("Resize", {"small", "", "", "sizes"}, {"y"}, {attribute("mode", std::string("linear"))});
  expect_same_at(text, {10, 13, 12, 40});
}

/// Cuts x to half of its length, and pads it to the whole again by the numbers `before` and `after`.
ModelText halved() {
  ModelText text = sequences();
  add_factors(text);
  text.add("Add", {"l1", "one1"}, {"longer"});
  text.add("Div", {"longer", "two1"}, {"half"});
  text.add("Slice", {"x", "zero1", "half", "one1"}, {"short"});
  text.add("Sub", {"l1", "half"}, {"rest"});
  text.add("Div", {"rest", "two1"}, {"before"});
  text.add("Sub", {"rest", "before"}, {"after"});
  text.add_tensor(test::floats("fill", {}, {2.5F}));
  return text;
}

TEST(DynamicDims, PadsToAnotherLength) {
  for (const std::string mode : {"constant", "edge", "reflect", "wrap"}) {
    SCOPED_TRACE(mode);
    ModelText text = halved();
    text.add("Concat", {"zero1", "before", "one1", "zero1", "after", "zero1"}, {"pads"}, {attribute("axis", 0)});
    text.add("Pad", {"short", "pads", "fill"}, {"y"}, {attribute("mode", mode)});
    if (mode == "wrap") {
      text.output("y");
      EXPECT_EQ(halfstep::test::name_of([&] { import_text(text); }), "depends_on_extents");
    } else {
      expect_same_at(text, mode == "reflect" ? std::vector<int64_t>{4, 5, 7, 40} : std::vector<int64_t>{1, 3, 2, 40});
    }
  }
}

/// PyTorch's exporter lists the numbers in pairs, from the last axis to the first.
TEST(DynamicDims, PadsAreListedInPairs) {
  ModelText text = halved();
  text.add_tensor(integers("pairs", {2}, {-1, 2}));
  text.add_tensor(integers("lowest", {1}, {INT64_MIN}));
  text.add("Concat", {"one1", "zero1", "before", "after", "zero1", "zero1"}, {"numbers"}, {attribute("axis", 0)});
  text.add("Reshape", {"numbers", "pairs"}, {"rows"});
  text.add("Slice", {"rows", "left", "lowest", "zero1", "left"}, {"reversed"});
  text.add("Transpose", {"reversed"}, {"columns"}, {attribute("perm", std::vector<int64_t>{1, 0})});
  text.add("Reshape", {"columns", "left"}, {"list"});
  text.add("Cast", {"list"}, {"pads"}, {attribute("to", int64_t{7})});
  text.add("Pad", {"short", "pads", "fill"}, {"y"}, {attribute("mode", std::string("constant"))});
  expect_same(text);
}

TEST(DynamicDims, WhatIsNotSaidByExtentsIsRefused) {
  ModelText square = sequences();
  square.add("Mul", {"l", "l"}, {"many"});
  square.add("Range", {"zero", "many", "one"}, {"y"});
  square.output("y");
  EXPECT_EQ(halfstep::test::name_of([&] { import_text(square); }), "depends_on_extents");
}

}  // namespace
}  // namespace halfstep::formats::onnx
