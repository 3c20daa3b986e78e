// Extents that look open and are not: tried at some numbers, they tell.
#include "halfstep/formats/trials.h"

#include <gtest/gtest.h>

#include "tests/formats/evaluate.h"
#include "tests/support/error.h"

namespace halfstep::formats::onnx {
namespace {

using test::attribute;
using test::import_text;
using test::ModelText;

const char* const kOpen = "more than one extent of the result depends on open extents";

/// x [n, 4, 6], or its rows, seen as [n * factor, rest...].
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
  EXPECT_NE(halfstep::test::error_of([] { type_of(seen_as(5, {-1})); }).find(kOpen), std::string::npos);
  EXPECT_NE(halfstep::test::error_of([] { type_of(seen_as(1, {2, -1}, false, true)); }).find(kOpen), std::string::npos);
}

TEST(Trials, FollowWhatARecordInfers) {
  ModelText text;
  text.input("x", {-1, 3});
  text.input("open", {-1, -1});
  text.add("Relu", {"x"}, {"y"});
  text.add("Relu", {"open"}, {"z"});
  text.output("y");
  text.output("z");
  const Model model = import_text(text);
  Trials trials;
  for (const Value argument : model.graph.arguments()) trials.add_argument(argument);
  for (const Op op : model.graph.ops()) trials.add(op);
  EXPECT_EQ(trials.extent(model.graph.value("y"), 0), kTries);
  EXPECT_EQ(trials.extent(model.graph.value("y"), 1), (Tried{3, 3, 3}));
  EXPECT_EQ(trials.elements(model.graph.value("y")), (Tried{6, 9, 21}));
  EXPECT_FALSE(trials.elements(model.graph.value("z")));
}

}  // namespace
}  // namespace halfstep::formats::onnx
