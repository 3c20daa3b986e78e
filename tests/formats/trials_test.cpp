// Extents that look dynamic but are fixed. The importer detects them by trying several sizes.
#include "halfstep/formats/builder/trials.h"

#include <gtest/gtest.h>

#include <set>

#include <algorithm>

#include "tests/formats/evaluate.h"
#include "tests/support/error.h"

namespace halfstep::formats::onnx {
namespace {

using test::attribute;
using test::import_text;
using test::ModelText;

/// x [n, 4, 6], or its rows, reshaped to [n * factor, rest...].
ModelText seen_as(int64_t factor, const std::vector<int64_t>& rest, bool flat = false, bool is_open = false) {
  ModelText text;
  text.input("x", {-1, is_open ? -1 : 4, 6});
  text.add_tensor(test::integers("row", {2}, {-1, 6}));
  text.add_tensor(test::integers("first", {1}, {0}));
  text.add_tensor(test::integers("factor", {1}, {factor}));
  text.add_tensor(test::integers("rest", {static_cast<int64_t>(rest.size())}, rest));
  text.add("Reshape", {"x", "row"}, {"rows"});
  text.add("Shape", {"x"}, {"shape"});
  text.add("Gather", {"shape", "first"}, {"batch"}, {attribute("axis", 0)});
  text.add("Mul", {"batch", "factor"}, {"many"});
  text.add("Concat", {"many", "rest"}, {"dims"}, {attribute("axis", 0)});
  text.add("Reshape", {flat ? "rows" : "x", "dims"}, {"y"}).set_name("it");
  text.output("y");
  return text;
}

Type type_of(const ModelText& text) { return import_text(text).graph.outputs().front().type(); }

TEST(Trials, LeftOutExtentsAreWorkedOut) {
  EXPECT_EQ(type_of(seen_as(1, {2, -1})), (Type{DType::f32, {kUnknown, 2, 12}}));
  EXPECT_EQ(type_of(seen_as(1, {-1, 3, 2})), (Type{DType::f32, {kUnknown, 4, 3, 2}}));
  EXPECT_EQ(type_of(seen_as(2, {2, -1})), (Type{DType::f32, {kUnknown, 2, 6}}));
  EXPECT_EQ(type_of(seen_as(4, {-1})), (Type{DType::f32, {kUnknown, 6}}));
}

TEST(Trials, RowsOfABatchAreNotTheBatch) {
  EXPECT_EQ(type_of(seen_as(1, {-1, 2}, true)), (Type{DType::f32, {kUnknown, 12, 2}}));
  EXPECT_EQ(type_of(seen_as(4, {3, -1}, true)), (Type{DType::f32, {kUnknown, 3, 2}}));
}

TEST(Trials, WhatDiffersFromBatchToBatchStaysOpen) {
  EXPECT_EQ(halfstep::test::name_of([] { type_of(seen_as(5, {-1})); }), "depends_on_extents");
  EXPECT_EQ(type_of(seen_as(1, {2, -1}, false, true)), (Type{DType::f32, {kUnknown, 2, kUnknown}}));
}

TEST(Trials, FollowWhatARecordInfers) {
  ModelText text;
  text.input("x", {-1, 3});
  text.input("open", {-1, -1, 2});
  text.add("Relu", {"x"}, {"y"});
  text.add("Concat", {"open", "open"}, {"z"}, {attribute("axis", 2)});
  text.add("Transpose", {"open"}, {"turned"}, {attribute("perm", std::vector<int64_t>{1, 0, 2})});
  for (const char* name : {"y", "z", "turned"}) text.output(name);
  const Model model = import_text(text);
  Trials trials;
  trials.add_argument(model.graph.value("x"), {"n", ""});
  trials.add_argument(model.graph.value("open"), {"n", "length", ""});
  for (const Op op : model.graph.ops()) trials.add(op);
  const auto extent = [&](const char* name, size_t axis) { return *trials.extent(model.graph.value(name), axis); };
  EXPECT_EQ(extent("y", 0), extent("x", 0));
  EXPECT_EQ(constant(extent("y", 1)), 3);
  EXPECT_EQ(constant(extent("z", 2)), 4);
  EXPECT_FALSE(constant(extent("z", 1)));
  EXPECT_EQ(extent("turned", 0), extent("open", 1));
  EXPECT_FALSE(agree(extent("open", 1), extent("x", 0)));
  const auto found = trials.find(extent("turned", 0), model.graph.body());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->value, model.graph.value("open"));
  EXPECT_EQ(found->axis, 1U);
}

/// Height and width of an image whose batch is known, and more dynamic dimensions than the table of tries has rows.
TEST(Trials, EveryDynamicDimIsTriedAtNumbersOfItsOwn) {
  ModelText text;
  text.input("x", {1, 3, -1, -1});
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) text.input(name, {1, -1});
  for (const char* name : {"x", "a", "b", "c", "d", "e", "f"}) text.output(name);
  const Model model = import_text(text);
  Trials trials;
  trials.add_argument(model.graph.value("x"), {"", "", "height", "width"});
  std::set<Tried> tried;
  for (const size_t axis : {2U, 3U}) tried.insert(*trials.extent(model.graph.value("x"), axis));
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) {
    trials.add_argument(model.graph.value(name), {"", std::string("length of ") + name});
    tried.insert(*trials.extent(model.graph.value(name), 1));
  }
  EXPECT_EQ(tried.size(), 8U);
}

/// A window longer than the extent in some tries rules these out. The remaining tries are enough.
TEST(Trials, TriesThatARecordRefusesAreLeftOut) {
  Tried tried = always(7);
  EXPECT_EQ(constant(tried), 7);
  std::fill(tried.begin(), tried.end() - 3, kRefused);
  EXPECT_EQ(constant(tried), 7);
  EXPECT_TRUE(agree(tried, always(7)));
  tried.back() = kRefused;
  EXPECT_FALSE(constant(tried));
  EXPECT_FALSE(agree(tried, always(7)));
}

}  // namespace
}  // namespace halfstep::formats::onnx
